"""Unpacks untrusted archives: zip or tar.gz, regular files and folders only.

Zip uploads are kept, beside the tar.gz of `pack_folder`. The standard library's own extraction is
not enough: it rewrites absolute paths instead of refusing them, takes links and names that clash,
and bounds neither sizes nor counts.
"""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Final, Self

from arena.uploads.archive_limits import (
    ARCHIVE_BYTES,
    ENTRIES,
    RATIO,
    RATIO_FREE_BYTES,
    Meter,
    UploadRefusedError,
    refuse,
)
from arena.uploads.tree import Tree

_CHUNK: Final = 64 << 10
_DAMAGED: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    struct.error,
    ValueError,
    OverflowError,
    RecursionError,
    NotImplementedError,
)
"""What the standard library raises at an archive that is cut off or made up."""

_HEADER_BYTES: Final = 16 << 10
_HEADERS: Final = 4 * ENTRIES
_ZIP_END: Final = b"PK\x05\x06"
_ZIP_END_BYTES: Final = 22
_ZIP64_LOCATOR: Final = b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES: Final = 20
_ZIP_DIRECTORY_BYTES: Final = ENTRIES << 10
_ENCRYPTED: Final = 0x1 | 0x40
_UNIX: Final = 3


def unpack_archive(archive: BinaryIO, folder: Path) -> None:
    """Unpack a zip or a tar.gz, a seekable file, into a new folder; may block for seconds.

    Files get the mode 644, or 755 when their owner may execute them; folders 755. After every
    exception the folder is removed; its parent must exist.

    Raises:
        UploadRefusedError: one sentence that names the entry and the rule.
        OSError: our own disk failed.
    """
    size = archive.seek(0, os.SEEK_END)
    if size > ARCHIVE_BYTES:
        raise UploadRefusedError(
            f"the archive has {size} bytes; the limit is {ARCHIVE_BYTES >> 20} MiB"
        )
    archive.seek(0)
    start = archive.read(4)
    archive.seek(0)
    with Tree.create(folder) as tree:
        if start[:2] == b"\x1f\x8b":
            unpack = _unpack_tar
        elif start in {b"PK\x03\x04", _ZIP_END}:
            unpack = _unpack_zip
        else:
            raise UploadRefusedError("the archive is neither a zip nor a tar.gz")
        try:
            unpack(archive, tree, size)
        except UploadRefusedError:
            raise
        except _DAMAGED as error:
            raise UploadRefusedError(f"the archive is damaged or cut off: {error}") from error
        tree.finish()


class _MeteredStream(io.RawIOBase):
    """Counts the bytes read from a decompressed stream."""

    def __init__(self, stream: gzip.GzipFile, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self._meter.add(len(data))
        return data


def _bounded_headers() -> type[tarfile.TarInfo]:
    """Return a header class that bounds what tarfile reads into memory."""
    count = 0

    class _Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal count
            header = super().frombuf(buf, encoding, errors)
            count += 1
            if count > _HEADERS:
                raise UploadRefusedError(f"the archive has more than {ENTRIES} entries")
            is_entry = header.isreg() or header.isdir()
            if not is_entry and header.size > _HEADER_BYTES:
                raise refuse(header.name, f"is a header of more than {_HEADER_BYTES} bytes")
            return header

    return _Header


def _unpack_tar(archive: BinaryIO, tree: Tree, size: int) -> None:
    with gzip.GzipFile(fileobj=archive) as decompressed:
        stream = _MeteredStream(decompressed, Meter(size))
        with tarfile.open(
            fileobj=stream, mode="r|", tarinfo=_bounded_headers(), bufsize=_CHUNK
        ) as tar:
            for number, entry in enumerate(tar, start=1):
                if number > ENTRIES:
                    raise UploadRefusedError(f"the archive has more than {ENTRIES} entries")
                _add_tar_entry(tar, entry, tree)
        # The checksum stands last: an archive that was cut off is known only there.
        while stream.read():
            pass


def _add_tar_entry(tar: tarfile.TarFile, entry: tarfile.TarInfo, tree: Tree) -> None:
    if entry.isdir():
        tree.add_folder(entry.name)
    elif entry.issym() or entry.islnk():
        raise refuse(entry.name, "is a link; put the file itself there")
    elif not entry.isreg() or entry.issparse():
        raise refuse(entry.name, "is neither a regular file nor a folder")
    else:
        data = tar.extractfile(entry)
        assert data is not None
        executable = bool(entry.mode & stat.S_IXUSR)
        tree.add_file(entry.name, _chunks(data), executable=executable)


def _chunks(data: IO[bytes]) -> Iterator[bytes]:
    while chunk := data.read(_CHUNK):
        yield chunk


def _unpack_zip(archive: BinaryIO, tree: Tree, size: int) -> None:
    _judge_directory(archive, size)
    meter = Meter(size)
    with zipfile.ZipFile(archive) as bundle:
        entries = bundle.infolist()
        if len(entries) > ENTRIES:
            raise UploadRefusedError(f"the archive has more than {ENTRIES} entries")
        for entry in entries:
            _add_zip_entry(bundle, entry, tree, meter)


def _judge_directory(archive: BinaryIO, size: int) -> None:
    """Check the directory's size before zipfile reads all of it into memory."""
    tail_bytes = min(size, _ZIP_END_BYTES + (1 << 16))
    archive.seek(size - tail_bytes)
    tail = archive.read(tail_bytes)
    at = tail_bytes - _ZIP_END_BYTES
    if at < 0 or tail[at : at + 4] != _ZIP_END or tail[-2:] != b"\0\0":
        at = tail.rfind(_ZIP_END)
    if at < 0 or at + _ZIP_END_BYTES > tail_bytes:
        raise UploadRefusedError("the archive is damaged or cut off: it has no directory")
    entries, directory_bytes = struct.unpack_from("<10xHL", tail, at)
    locator = size - tail_bytes + at - _ZIP64_LOCATOR_BYTES
    archive.seek(max(0, locator))
    if archive.read(4) == _ZIP64_LOCATOR:
        raise UploadRefusedError("the archive is a zip64, which no archive of this size need be")
    if entries > ENTRIES or directory_bytes > _ZIP_DIRECTORY_BYTES:
        raise UploadRefusedError(f"the archive has more than {ENTRIES} entries")
    archive.seek(0)


def _add_zip_entry(
    bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, tree: Tree, meter: Meter
) -> None:
    # zipfile cuts `filename` off at a NUL; the original is what is judged.
    name = entry.orig_filename
    mode = entry.external_attr >> 16 if entry.create_system == _UNIX else 0
    kind = stat.S_IFMT(mode)
    if entry.flag_bits & _ENCRYPTED:
        raise refuse(name, "is encrypted")
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise refuse(name, "is compressed in another way than deflate")
    if kind == stat.S_IFLNK:
        raise refuse(name, "is a link; put the file itself there")
    is_folder = name.endswith("/")
    if kind not in {0, stat.S_IFDIR if is_folder else stat.S_IFREG}:
        raise refuse(name, "is neither a regular file nor a folder")
    if is_folder:
        if entry.file_size or entry.compress_size:
            raise refuse(name, "is a folder with contents of its own")
        tree.add_folder(name)
        return
    with bundle.open(entry) as data:
        chunks = _metered(data, name, entry.compress_size, meter)
        tree.add_file(name, chunks, executable=bool(mode & stat.S_IXUSR))


def _metered(data: IO[bytes], name: str, compressed: int, meter: Meter) -> Iterator[bytes]:
    size = 0
    for chunk in _chunks(data):
        meter.add(len(chunk))
        size += len(chunk)
        if size > max(RATIO_FREE_BYTES, RATIO * compressed):
            raise refuse(name, f"unpacks to more than {RATIO} times its size, which no bot needs")
        yield chunk
