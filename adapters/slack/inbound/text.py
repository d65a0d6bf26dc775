"""Slack's own text made plain: what people typed, without the tokens that Slack puts into it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_TOKEN = re.compile(r"<([^<>\n]{1,4000})>")
_USER = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>\n]*)?>")
_DATE = re.compile(r"!date\^\d+\^[^|]*\|(.*)", re.DOTALL)
_BANG = re.compile(r"!([A-Za-z_]+)(?=\s|$)")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def mentioned(text: str) -> list[str]:
    """The ids of the people that a text mentions, each once, in order."""
    return list(dict.fromkeys(_USER.findall(text)))


def plain(text: str, names: Mapping[str, str], *, me: str = "") -> str:
    """The text as its reader sees it.

    `names` are those of people and channels by their ids; one that is not known stays an id. A
    mention of the bot itself, `me`, at either end is only how it was addressed, and goes.
    """
    if me:
        own = rf"<@{re.escape(me)}(?:\|[^<>\n]*)?>"
        text = re.sub(rf"\A(?:\s*{own}[\s,:]*)+", "", text)
        text = re.sub(rf"(?:\s*{own})+\s*\Z", "", text)
    return unescaped(_TOKEN.sub(lambda token: _shown(token[1], names), text)).strip()


def unescaped(text: str) -> str:
    """The text without Slack's escapes."""
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text


def escaped(text: str) -> str:
    """The text as Slack takes it where nothing of it shall be a mention or a link."""
    for escape, character in reversed(_ESCAPES):
        text = text.replace(character, escape)
    return text


def as_command(text: str, commands: Collection[str]) -> str:
    """`!stop` as the command `/stop`: Slack keeps slashes for itself. Only commands that there are
    change; `!important` is a text.
    """
    found = _BANG.match(text)
    return f"/{text[1:]}" if found and found[1].lower() in commands else text


def asks_for_help(text: str, *, alone: bool) -> bool:
    """Whether somebody wants to know what can be typed: they said `help`, or, if nothing came
    along (`alone`), nothing but the bot's name.
    """
    return text.rstrip(" .!?").lower() == "help" or (alone and not text)


def _shown(token: str, names: Mapping[str, str]) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label.lstrip('@') or target[1:]}"
        case "#":
            return f"#{names.get(target[1:]) or label.lstrip('#') or target[1:]}"
        case "!":
            if date := _DATE.fullmatch(token):
                return date[1]
            return f"@{(label or target.rpartition('^')[2]).lstrip('@!')}"
        case _:
            url = target.removeprefix("mailto:")
            return f"{label} ({url})" if label and label not in (url, target) else url
