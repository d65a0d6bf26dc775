"""Reading payloads: fields, ids, and text without Slack's own marks.

Anybody may have shaped a payload: a field is what it should be, or empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, cast

from adapters.slack.config import PLATFORM
from gateway.base.calendar import utc_text
from gateway.render.markdown import mrkdwn

Payload: TypeAlias = Mapping[str, Any]

MOST = 10**15
"""Numbers of Slack's are below."""
TS = re.compile(r"\d{1,15}\.\d{1,10}", re.ASCII)
_EMPTY: Payload = {}
_TABLES = (dict, Mapping)  # a dict is found out ten times as fast

_TOKEN = re.compile(r"<([^<>\n]{1,4000})>")
_USER = re.compile(r"<@([A-Z0-9]+)(?:\|[^<>\n]*)?>")
_GROUP = re.compile(r"<!subteam\^[A-Z0-9]+(?:\|[^<>\n]*)?>")
_UNNAMED = re.compile(r"<(?:@|#|!subteam\^)([A-Z0-9]{1,30})\|?>", re.ASCII)
_DATE = re.compile(r"!date\^(\d{1,12})[^|]*(?:\|(.*))?", re.DOTALL | re.ASCII)
_BANG = re.compile(r"!([A-Za-z_]+)(?=\s|$)")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def text_at(data: Payload, *path: str) -> str:
    """The text at a path, "" for anything else."""
    value = _at(data, path)
    return value if isinstance(value, str) else ""


def number_at(data: Payload, *path: str) -> int:
    """The whole number at a path, 0 for anything else."""
    value = _at(data, path)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and abs(value) < MOST else 0


def table_at(data: Payload, *path: str) -> Payload:
    """The table at a path, an empty one for anything else."""
    value = _at(data, path)
    return cast("Payload", value) if isinstance(value, _TABLES) else _EMPTY


def tables_at(data: Payload, *path: str) -> list[Payload]:
    """The tables in the list at a path."""
    value = _at(data, path)
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Payload", each) for each in found if isinstance(each, _TABLES)]


def texts_at(data: Payload, *path: str) -> tuple[str, ...]:
    """The texts in the list at a path."""
    value = _at(data, path)
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return tuple(each for each in found if isinstance(each, str))


def ts_at(data: Payload, *path: str) -> str:
    """The ts at a path, "" for what is none."""
    text = text_at(data, *path)
    return text if TS.fullmatch(text) else ""


def team_of(payload: Payload) -> str:
    """The workspace whose installation received an event, or ""."""
    grants = tables_at(payload, "authorizations")
    granted = text_at(grants[0], "team_id") if grants else ""
    return granted or text_at(payload, "context_team_id") or text_at(payload, "team_id")


def enterprise_of(payload: Payload) -> str:
    """The organisation that a payload is from, or ""."""
    grants = tables_at(payload, "authorizations")
    granted = text_at(grants[0], "enterprise_id") if grants else ""
    named = text_at(payload, "enterprise_id") or text_at(payload, "enterprise", "id")
    return granted or text_at(payload, "context_enterprise_id") or named


def bot_user_of(payload: Payload) -> str:
    """The bot's own user where an event arrived, or ""."""
    grants = tables_at(payload, "authorizations")
    return text_at(grants[0], "user_id") if grants and grants[0].get("is_bot") is True else ""


def author_id(team: str, user: str) -> str:
    """A person or a bot as the gateway knows them."""
    return f"{PLATFORM}:{team}:{user}"


def slack_ids(author: str) -> tuple[str, str] | None:
    """The workspace and user id in an author's id.

    None for an author of another platform.
    """
    platform, _, rest = author.partition(":")
    team, _, user = rest.partition(":")
    return (team, user) if platform == PLATFORM and team and user else None


def is_direct(channel: str) -> bool:
    """True for a direct conversation of one person with the bot."""
    return channel.startswith("D")


def mentioned(text: str) -> list[str]:
    """The user ids that a text mentions, each once, in order."""
    return list(dict.fromkeys(_USER.findall(text)))


def unnamed(text: str) -> list[str]:
    """Ids of people, channels and groups that have to be named."""
    return list(dict.fromkeys((*mentioned(text), *_UNNAMED.findall(text))))


def mentions_others(text: str, *people: str) -> bool:
    """True if a text mentions a user group, or anybody else."""
    return _GROUP.search(text) is not None or not set(people).issuperset(mentioned(text))


def plain(text: str, names: Mapping[str, str], *, me: str = "") -> str:
    """The text as its reader sees it.

    `names` are those of people, channels and groups by their ids; one that is not known stays an
    id. A mention of the bot itself, `me`, at either end is only how it was addressed, and goes.
    """
    text = _without_me(text, me)
    return unescaped(_TOKEN.sub(lambda token: _shown(token[1], names), text)).strip()


def opens_with_mention(text: str, *, me: str = "") -> bool:
    """True if the text begins by mentioning a person or group."""
    return _without_me(text, me).lstrip().startswith(("<@", "<!"))


def _without_me(text: str, me: str) -> str:
    return _without_addressing(text, rf"<@{re.escape(me)}(?:\|[^<>\n]*)?>") if me else text


def _without_addressing(text: str, mention: str) -> str:
    """The text without mentions of this pattern at its ends."""
    text = re.sub(rf"\A(?:\s*+{mention}[\s,:]*+)++", "", text).rstrip()
    end, last = len(text), re.compile(mention)
    # From the end, by hand: a pattern would begin anew at each space of a long run.
    while (start := text.rfind("<", 0, end)) >= 0 and last.fullmatch(text, start, end):
        end = start
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def unescaped(text: str) -> str:
    """The text without Slack's escapes."""
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text


def escaped(text: str) -> str:
    """The text escaped for Slack: no mention and no link."""
    for escape, character in reversed(_ESCAPES):
        text = text.replace(character, escape)
    return text


def as_command(text: str, commands: Collection[str]) -> str:
    """`!stop` as the command `/stop`: Slack keeps slashes for itself.

    Only the gateway's commands change; `!important` is a text.
    """
    found = _BANG.match(text)
    return f"/{text[1:]}" if found and found[1].lower() in commands else text


def gateway_text(commands: Collection[str]) -> Callable[[str], str]:
    """A writer of the gateway's texts as mrkdwn, with commands as `!stop`."""
    names = "|".join(sorted(map(re.escape, commands), key=len, reverse=True)) or "(?!)"
    command = re.compile(rf"(?<![\w/.:<])/(?=(?:{names})(?![\w/-]))")
    return lambda text: mrkdwn(command.sub("!", text))


def asks_for_help(text: str, *, alone: bool) -> bool:
    """True for a request for help.

    Somebody wrote `help`, or, if nothing else was sent (`alone`), only mentioned the bot.
    """
    return text.rstrip(" .!?").lower() == "help" or (alone and not text)


def _at(data: Payload, path: tuple[str, ...]) -> Any:
    value: Any = data
    for name in path:
        if not isinstance(value, _TABLES):
            return None
        value = cast("Payload", value).get(name)
    return value


def _shown(token: str, names: Mapping[str, str]) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label.lstrip('@') or target[1:]}"
        case "#":
            return f"#{names.get(target[1:]) or label.lstrip('#') or target[1:]}"
        case "!":
            if date := _DATE.fullmatch(token):
                return date[2] or utc_text(int(date[1]))
            named = target.rpartition("^")[2]
            return f"@{(names.get(named) or label or named).lstrip('@!')}"
        case _:
            url = target.removeprefix("mailto:")
            return f"{label} ({url})" if label and label not in (url, target) else url
