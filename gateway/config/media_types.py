"""Media types in settings, and suggestions for misspelt ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from mimetypes import MimeTypes

from gateway.base.suggest import nearest

_FORM = re.compile(r"(?P<kind>[a-z-]+|\*)/(?P<rest>[a-z0-9*][a-z0-9!#$&^_.+*-]*)", re.IGNORECASE)
_KINDS = (
    *("application", "audio", "example", "font", "haptics", "image", "message", "model"),
    *("multipart", "text", "video", "*"),
)
# Of these, most types are known, so that one like a known type, or like an ending, is a slip.
_NEARLY_ALL_KNOWN = ("image", "text")


@cache
def _by_ending() -> Mapping[str, str]:
    """Python's own types of files, not the machine's."""
    return MimeTypes(filenames=()).types_map[1]


def check_media_type(text: str) -> str:
    """The text, if files can have such a type. Raises ValueError."""
    found = _FORM.fullmatch(text)
    if text == "*" or (found and _is_kind(found["kind"].lower()) and not _slip(text)):
        return text
    meant = _meant(text)
    hint = f"; did you mean {meant!r}?" if meant else ""
    raise ValueError(f"found {text!r}, expected a media type such as 'image/*'{hint}")


def _is_kind(text: str) -> bool:
    return text in _KINDS or text.startswith("x-")


def _slip(text: str) -> str:
    """The known type for one that no file has, or ""."""
    kind, _, rest = text.lower().partition("/")
    if kind not in _NEARLY_ALL_KNOWN or "*" in rest or text.lower() in _by_ending().values():
        return ""
    if rest.startswith(("x-", "vnd.")):
        return ""
    by_ending = _by_ending().get(f".{rest}", "")
    known = {*_by_ending().values()}
    same_kind = [each.partition("/")[2] for each in known if each.startswith(f"{kind}/")]
    near = nearest(rest, same_kind)
    return by_ending if by_ending.startswith(kind) else f"{kind}/{near}" if near else ""


def _meant(text: str) -> str:
    plain = text.lower().removeprefix("*").removeprefix(".")
    if "/" not in plain:
        kind = nearest(plain, _KINDS)
        return _by_ending().get(f".{plain}", "") or (f"{kind}/*" if kind else "")
    kind, _, rest = plain.partition("/")
    near = nearest(kind, _KINDS)
    return _slip(plain) or (f"{near}/{rest}" if near and rest else "")
