"""Files of a folder that untrusted code shares."""

from teams._base.key_files import is_key_file
from teams._base.safe_files import (
    FileFacts,
    UnsafePathError,
    folder_size,
    list_folder,
    open_file,
    read_file,
    remove_file,
    walk_files,
    write_file,
)

__all__ = [
    "FileFacts",
    "UnsafePathError",
    "folder_size",
    "is_key_file",
    "list_folder",
    "open_file",
    "read_file",
    "remove_file",
    "walk_files",
    "write_file",
]
