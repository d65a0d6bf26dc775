"""Pictures that code showed, for models."""

from __future__ import annotations

from teams._base.code import CodeResult, JupyterCodeResult
from teams._base.image import Image
from teams._base.safe_files import read_file
from teams._tools.workbench import LARGEST_PICTURE

_SUFFIXES = {".jpg", ".png"}


def pictures_of(result: CodeResult) -> list[Image]:
    """The PNG and JPEG files of a result, as far as they are still there."""
    found: list[Image] = []
    for path in result.output_files if isinstance(result, JupyterCodeResult) else ():
        if path.suffix in _SUFFIXES:
            try:
                data = read_file(path.parent, path.name, longest=LARGEST_PICTURE)
                found.append(Image.from_bytes(data))
            except (OSError, ValueError):  # the result names it all the same
                continue
    return found
