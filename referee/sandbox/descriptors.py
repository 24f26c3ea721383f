"""Descriptors that a child reads from: data without a file."""

from __future__ import annotations

import os


def readable(data: bytes) -> int:
    """Return a new descriptor from which the data can be read; the caller closes it."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
