"""Messages as requests describe them, checked as Discord checks them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adapters.discord.simulator import components
from adapters.discord.simulator.errors import Json, invalid, known_error, too_long, wrong_length
from adapters.discord.simulator.model import MessageFlag

CONTENT = 2000
EMBEDS = 10
EMBED_TEXT = 6000
FILES = 10
NONCE = 25
EMBED_FIELDS = {"title": 256, "description": 4096}

# Wherever a message is written, discord.py sends `tts`, and discord.js `enforce_nonce`, too.
COMMON = frozenset(
    {"content", "embeds", "allowed_mentions", "components", "flags", "attachments", "poll"}
    | {"tts", "enforce_nonce"}
)
CREATE = COMMON | {"message_reference", "nonce", "sticker_ids"}
EDIT = COMMON | {"sticker_ids"}
WEBHOOK = COMMON | {"username", "avatar_url", "thread_name", "applied_tags"}
ANSWER = COMMON


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a request."""

    filename: str
    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message to be written; in an edit, None changes nothing."""

    content: str | None = None
    embeds: list[Json] | None = None
    components: list[Json] | None = None
    attachments: list[Json] | None = None
    """Those to keep (by id) and what is said of new ones (by their number)."""
    uploads: dict[str, Upload] = field(default_factory=dict[str, Upload])
    flags: int | None = None
    allowed_mentions: Json | None = None
    nonce: int | str | None = None
    enforce_nonce: bool = False
    reference: Json | None = None
    username: str | None = None
    avatar_url: str | None = None
    parts: Json = field(default_factory=dict[str, object])
    """Parts that no request of ours has."""


def read(
    body: Any, uploads: dict[str, Upload], known: Iterable[str], *, old_flags: int | None = None
) -> Draft:
    """Read a request's body; `old_flags` belong to the edited message."""
    if not isinstance(body, dict):
        raise invalid("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
    _check_names(body, known)
    _check_mentions(body.get("allowed_mentions") or {})
    flags = body.get("flags")
    v2 = bool(((flags or 0) | (old_flags or 0)) & MessageFlag.IS_COMPONENTS_V2)
    _check_flags(body, old_flags, v2=v2)
    return Draft(
        content=_content(body, v2=v2),
        embeds=_embeds(body.get("embeds"), v2=v2) if "embeds" in body else None,
        components=components.complete_components(body["components"] or [], v2=v2)
        if "components" in body
        else None,
        attachments=_attachments(body, uploads),
        uploads=uploads,
        flags=flags,
        allowed_mentions=body.get("allowed_mentions"),
        nonce=_nonce(body.get("nonce")),
        enforce_nonce=bool(body.get("enforce_nonce")),
        reference=body.get("message_reference"),
        username=body.get("username"),
        avatar_url=body.get("avatar_url"),
    )


def check_not_empty(draft: Draft) -> None:
    """Refuse a new message that says nothing."""
    parts = draft.content or draft.embeds or draft.components or draft.uploads
    if not parts and not (draft.reference or {}).get("type"):
        raise known_error("empty message")


def _check_names(body: Json, known: Iterable[str]) -> None:
    # Discord ignores what it doesn't know; here it is nearly always a slip of the caller's.
    for name in body:
        if name not in known:
            raise invalid(name, "UNKNOWN_FIELD", "The simulator knows no such field.")


def _check_mentions(rules: Json) -> None:
    for kind in ("users", "roles"):
        if kind in (rules.get("parse") or []) and rules.get(kind):
            raise invalid(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )


def _check_flags(body: Json, old_flags: int | None, *, v2: bool) -> None:
    if not v2:
        return
    removed = body.get("flags") is not None and not body["flags"] & MessageFlag.IS_COMPONENTS_V2
    if old_flags is not None and removed:
        raise invalid(
            "flags", "MESSAGE_CANNOT_REMOVE_COMPONENTS_V2_FLAG", "The flag cannot be removed"
        )
    for name in ("content", "embeds", "poll", "sticker_ids"):
        if body.get(name):
            raise invalid(
                name,
                "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                f"The '{name}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
            )


def _content(body: Json, *, v2: bool) -> str | None:
    if "content" not in body or v2:
        return None
    content = body["content"] or ""
    if not isinstance(content, str):
        raise invalid("content", "BASE_TYPE_STRING", "Must be a string")
    if len(content) > CONTENT:
        raise too_long("content", CONTENT)
    return content.strip()


def _embeds(embeds: list[Json] | None, *, v2: bool) -> list[Json]:
    shown = [_embed(index, each) for index, each in enumerate(embeds or [])]
    if len(shown) > EMBEDS:
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", f"Must be {EMBEDS} or fewer in length.")
    if sum(_text(each) for each in shown) > EMBED_TEXT:
        raise invalid(
            "embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBED_TEXT}"
        )
    return [] if v2 else shown


def _embed(index: int, embed: Json) -> Json:
    for name, most in EMBED_FIELDS.items():
        if len(embed.get(name) or "") > most:
            raise too_long(f"embeds.{index}.{name}", most)
    given = {key: value for key, value in embed.items() if value is not None}
    if fields := given.get("fields"):
        given["fields"] = [{"inline": False, **each} for each in fields]
    return {**given, "type": "rich"}


def _text(embed: Json) -> int:
    length = sum(len(embed.get(name) or "") for name in EMBED_FIELDS)
    length += sum(len(each["name"]) + len(each["value"]) for each in embed.get("fields") or [])
    length += len((embed.get("footer") or {}).get("text") or "")
    return length + len((embed.get("author") or {}).get("name") or "")


def _attachments(body: Json, uploads: dict[str, Upload]) -> list[Json] | None:
    listed: list[Json] = body.get("attachments") or []
    if len(listed) > FILES or len(uploads) > FILES:
        raise wrong_length("attachments", 0, FILES)
    return listed if "attachments" in body else None


def _nonce(nonce: Any) -> int | str | None:
    if isinstance(nonce, str) and len(nonce) > NONCE:
        raise too_long("nonce", NONCE)
    return nonce
