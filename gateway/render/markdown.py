"""An agent's Markdown for a platform: as it was meant, and harmless.

Code stays as it is. Around it nothing pings, no link hides where it leads, no line looks like one
of the gateway's own, and what the platform can't draw becomes something that it can. Pure, and safe
to call on any prefix of a text that still grows. Adapters tell their platform not to unfurl and not
to ping in any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gateway.render.code import change_prose
from gateway.render.formulas import show_formulas
from gateway.render.links import NAMED, names_host, open_links
from gateway.render.sanitize import AT, EVERYBODY, MENTION, sanitize

RULE = "\u2500" * 12
BAR = "\u2502 "
"""Before what is quoted within a quotation."""
ANGLE = "\u2039"
"""Looks like the less-than sign, and begins nothing."""
BOXES = {" ": "\u2610", "x": "\u2611", "X": "\u2611"}

_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]*)$", re.MULTILINE)
_RULE = re.compile(
    r"^ {0,3}(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$", re.MULTILINE
)
_QUOTATION = re.compile(r"^(?:[ \t]{0,3}>)++[ \t]?", re.MULTILINE)
_OPENER = re.compile(
    r"(?P<before>(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*+)"
    r"(?P<marks>`{3,}+|~{3,}+)(?P<info>[^\n]*)"
)
_CLOSER = re.compile(r"(?P<before>[ \t>]*+)(?P<marks>`{3,}+|~{3,}+)[ \t]*")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}")
_TASK = re.compile(
    r"^(?P<before>[ \t>\u2502]*+)(?:[-*+][ \t]++|(?P<number>[0-9]{1,9}[.)][ \t]++))"
    r"\[(?P<box>[ xX])\](?=[ \t])",
    re.MULTILINE,
)
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY = re.compile("|".join(_ENTITIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The Markdown of a platform.

    `acts` finds beginnings of what the platform acts on outside of code, and `instead` stands there
    then; `acts_in_code` finds those in code. `own` finds the beginnings of lines that
    are the gateway's alone; a backslash stands before their group.
    """

    acts: re.Pattern[str] = MENTION
    instead: str = ANGLE
    acts_in_code: re.Pattern[str] | None = None
    own: re.Pattern[str] | None = None
    headings: int = 6
    """Levels of headings; lower ones are bold lines."""
    rules: bool = True
    """It draws a line for `---`."""
    tasks: bool = False
    """It draws boxes for `- [ ]`, and no bullets before them."""
    long_fences: bool = True
    """A fence may have more than three marks, and ends with as many."""


ANY = Dialect()
"""The Markdown of a platform that is not known any better."""


@lru_cache(maxsize=8)
def markdown(text: str, dialect: Dialect = ANY) -> str:
    """The text for a platform; for one that grows, `dead_links` of it."""
    return change_prose(
        sanitize(text),
        lambda part, kept: _prose(part, kept, dialect),
        span=lambda part: _code(part, dialect),
        fence=lambda part: _code(_fence(part, dialect), dialect),
    )


def mrkdwn(text: str) -> str:
    """Text for surfaces that read mrkdwn; its own marks become text."""
    text = change_prose(sanitize(text), lambda part, _: _plain_links(part))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return EVERYBODY.sub(AT, text)


def _prose(text: str, kept: list[str], dialect: Dialect) -> str:
    spans = len(kept)
    text = show_formulas(text, kept)
    kept[spans:] = [_code(formula, dialect) for formula in kept[spans:]]
    text = open_links(text, kept)
    text = EVERYBODY.sub(AT, dialect.acts.sub(dialect.instead, text))
    text = _QUOTATION.sub(_quotation, text)
    if not dialect.tasks:
        text = _TASK.sub(_task, text)
    if not dialect.rules:
        text = _RULE.sub(RULE, text)
    if dialect.own is not None:
        text = dialect.own.sub(r"\g<before>\\\g<mark>", text)
    return _HEADING.sub(lambda found: _heading(found, dialect.headings), text)


def _code(text: str, dialect: Dialect) -> str:
    return dialect.acts_in_code.sub(ANGLE, text) if dialect.acts_in_code else text


def _fence(text: str, dialect: Dialect) -> str:
    """A fence with marks that the platform reads."""
    opener = _OPENER.match(text)
    if opener is None or (opener["marks"][0] == "`" and dialect.long_fences):
        return text
    marks, info = opener["marks"], opener["info"].split()
    first = f"{opener['before']}```{info[0] if info and _LANGUAGE.fullmatch(info[0]) else ''}"
    lines = text[opener.end() :].replace("```", "\u02cb" * 3).split("\n")
    end = len(lines) - 1 - (not lines[-1])
    closer = _CLOSER.fullmatch(text[opener.end() :].split("\n")[end])
    if end > 0 and closer is not None and closer["marks"].startswith(marks):
        lines[end] = f"{closer['before']}```"
    return "\n".join([first + lines[0], *lines[1:]])


def _quotation(found: re.Match[str]) -> str:
    depth = found[0].count(">")
    return found[0] if depth == 1 and found[0] == "> " else f"> {BAR * (depth - 1)}"


def _task(found: re.Match[str]) -> str:
    """A box instead of a bullet; a number stays."""
    return f"{found['before']}{found['number'] or ''}{BOXES[found['box']]}"


def _heading(found: re.Match[str], levels: int) -> str:
    if len(found["marks"]) <= levels:
        return found[0]
    title = found["title"].rstrip().rstrip("#").rstrip().replace("**", "")
    return f"**{title}**" if title else ""


def _plain_links(text: str) -> str:
    """Addresses beside their words, and characters for the names of some."""
    text = NAMED.sub(
        lambda found: f"{found['words']} ({found['url']})" if names_host(found) else found[0], text
    )
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], open_links(text, masks=False))
