"""Packs bot folders for upload, and unpacks untrusted archives.

`pack_folder` makes what `unpack_archive` takes; both check names by the same rules. Neither needs
more than the standard library.
"""

from arena.uploads.archive_limits import UploadRefusedError
from arena.uploads.pack import LEFT_OUT, pack_folder
from arena.uploads.unpack import unpack_archive

__all__ = ["LEFT_OUT", "UploadRefusedError", "pack_folder", "unpack_archive"]
