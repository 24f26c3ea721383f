"""Makes archives as an author's tool, or an attacker's, would."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from arena.uploads import unpack_archive

TOML = b'name = "it"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n'


def tar_of(*entries: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    """Return a tar.gz of entries; a pair is a file with contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            if isinstance(entry, tuple):
                name, data = entry
                header = tarfile.TarInfo(name)
                header.size = len(data)
                tar.addfile(header, io.BytesIO(data))
            else:
                tar.addfile(entry)
    return out.getvalue()


def tar_entry(name: str, kind: bytes, *, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    """Return a header without contents."""
    header = tarfile.TarInfo(name)
    header.type, header.linkname, header.mode = kind, target, mode
    return header


def raw_tar(*blocks: bytes) -> bytes:
    """Return a tar.gz of blocks as they are."""
    return gzip.compress(b"".join(blocks) + bytes(1024))


def zip_of(
    *entries: tuple[str, bytes] | tuple[zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a zip of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as bundle:
        for name, data in entries:
            bundle.writestr(name, data)
    return out.getvalue()


def zip_entry(name: str, mode: int, *, system: int = 3) -> zipfile.ZipInfo:
    """Return the header of a zip's entry with a Unix mode."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = system, mode << 16
    return info


def unpack(data: bytes, parent: Path) -> Path:
    """Unpack an archive into ``parent/bot`` and return that."""
    folder = parent / "bot"
    unpack_archive(io.BytesIO(data), folder)
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes | None, int]]:
    """Return everything below a folder: contents (None for a folder) and mode by path."""
    return {
        path.relative_to(folder).as_posix(): (
            None if path.is_dir() else path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in sorted(folder.rglob("*"))
    }


def archives_of(names: Sequence[str]) -> list[bytes]:
    """Return a tar.gz and a zip with files of these names."""
    files = [(name, b"x") for name in names]
    return [tar_of(*files), zip_of(*files)]
