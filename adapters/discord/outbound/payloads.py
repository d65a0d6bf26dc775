"""The body of the Discord message for each part. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from adapters.discord.config import PLATFORM
from adapters.discord.connection.message_body import (
    CONTENT,
    Message,
    clip,
    escape_markdown,
    length,
    neutral,
    without_small_print,
)
from adapters.discord.connection.rest import Upload
from adapters.discord.custom_ids import LONGEST, custom_id
from adapters.discord.outbound.arguments import show_arguments
from gateway.events import InputRequested
from gateway.interactions import Button, ButtonKind, buttons
from gateway.render.sanitize import label, sanitize
from gateway.render.split import with_closed_fence
from gateway.surface import Activity, ActivityStatus, Card, Document, Line, Part, Speech

FENCE = 40
"""Characters that close code which a text leaves open."""
SHORTEST = 12
"""Characters of tools below which nothing is told of them."""
THUMBS = ("\U0001f44d", "\U0001f44e")
BUTTONS = 5
OPTIONS = 25
QUESTION = 1300
"""Characters of a question that a card shows itself; a longer one is a file."""

NAME = 48
MARK = 60
"""Characters of an emoji: "<:", a name of 29, ":", an id of 20, and ">"."""
TOOLS, HAND_OFF = 120, 60
"""Characters of the lines that tell what an agent does."""

CONTINUED = ", continued"
"""In the head of each further part of what an agent says: others may have written since, and
Discord puts the bot's name above all of its messages.
"""
UNSURE = "-# This message may appear twice."
RESUMING = "-# \u2026 interrupted; the answer starts again"
REST = "-# The rest is in {name} below."
WRITING = "-# \u2026 still writing, {count:,} characters"
ARROW = "\u2192"
MARKS: dict[ActivityStatus, str] = {
    "running": "\u23f3",
    "done": "\u2713",
    "failed": "\u2717",
    "unknown": "?",
    "stopped": "\u25a0",
}
_STYLES: dict[ButtonKind, int] = {"approve": 3, "deny": 4, "text": 1}
LEVELS = {"info": "", "warning": "\u26a0\ufe0f ", "error": "\u274c "}


def render_part(part: Part, *, named: bool = True, mark: str = "", thumbs: bool = False) -> Message:
    """The message of a part.

    `named`: the message is the bot's, so its text has the agent's name, after an emoji as its
    `mark`. `thumbs`: a whole answer can be rated.
    """
    match part.content:
        case Speech() as speech:
            message = _render_speech(speech, named=named, mark=mark)
            if thumbs and speech.text and speech.last and not (speech.growing or speech.mark):
                message = replace(message, components=(_thumbs(part.key),))
        case Card() as card:
            message = _render_card(card)
        case Line() as line:
            message = _render_line(line)
        case Document() as document:
            message = _render_document(document, named=named, mark=mark)
    if not part.unsure:
        return message
    return replace(message, content=f"{message.content}\n{UNSURE}".strip())


def _render_document(document: Document, *, named: bool, mark: str) -> Message:
    head = _head(document.agent, mark) if document.agent and named else ""
    text = "\n".join(filter(None, [head, document.text]))
    return Message(
        content=clip(text, CONTENT - len(UNSURE) - 1),
        files=tuple(Upload(name=file_name(file.name), data=file.data) for file in document.files),
    )


def _render_speech(speech: Speech, *, named: bool, mark: str) -> Message:
    above, below = _around(speech, named=named, mark=mark)
    left = _left([*above, *below])
    text = speech.text.strip() and speech.text.rstrip()
    if speech.growing and text:
        text = with_closed_fence(clip(speech.text, left - FENCE))
    elif speech.growing and not speech.activity:
        text = "-# \u2026"
    # Clipped only where a file has it all, or more is to come.
    text = clip(without_small_print(text) if speech.text.strip() else text, left)
    lines = [*above, *filter(None, [text]), *below]
    if (tools := _tools(speech)) and (left := _left(lines)) > SHORTEST:  # a call may come late
        lines.insert(len(above), _small_text(tools, min(TOOLS, left)))
    return Message(content="\n".join(lines) or "-# \u2026")


def room_of(speech: Speech) -> int:
    """Characters of text beside all else of a speech.

    While it grows, what it is followed by is still unknown.
    """
    above, below = _around(replace(speech, written=0, resuming=False), named=True, mark="-" * MARK)
    above += [_small_text(tools, TOOLS)] if (tools := _tools(speech)) else []
    unknown = ["-" * (HAND_OFF + 3), "-" * FENCE] if speech.growing else []
    return _left([*above, *below, *unknown])


def _left(lines: Iterable[str]) -> int:
    """Characters for a further line in a message, which may be unsure."""
    return CONTENT - length("\n".join([*lines, UNSURE, ""]))


def _around(speech: Speech, *, named: bool, mark: str) -> tuple[list[str], list[str]]:
    """The lines above and below an agent's text, but for its tools."""
    head = _head(speech.agent, mark)
    above = [head if speech.first else f"{head}{CONTINUED}"] if named else []
    incoming, outgoing = _hand_offs(speech)
    if incoming:
        above.append(_small_text([_activity_text(each) for each in incoming], HAND_OFF))
    below: list[str] = []
    if outgoing:
        below.append(_small_text([_outgoing_hand_off(each) for each in outgoing], HAND_OFF))
    if speech.rest_in:
        below.append(REST.format(name=escape_markdown(file_name(speech.rest_in))))
    if speech.written:
        below.append(WRITING.format(count=speech.written))
    if speech.resuming:
        below.append(RESUMING)
    if speech.mark:
        below.append(f"-# {speech.mark}")
    return above, below


def _tools(speech: Speech) -> list[str]:
    tools = [each for each in speech.activity if each.kind == "tool"]
    return [f"{MARKS[each.status]} {_activity_text(each)}" for each in tools]


def _head(agent: str, mark: str) -> str:
    """The agent's emoji and name in small print, which agents can't write."""
    return f"-# {mark} **{escape_markdown(label(agent, NAME))}**".replace("  ", " ", 1)


def _hand_offs(speech: Speech) -> tuple[list[Activity], list[Activity]]:
    """Handoffs that gave the agent its turn, and those after its text."""
    all_of_them = [each for each in speech.activity if each.kind == "handoff"]
    others = list(takewhile(lambda each: ARROW in each.title, all_of_them))
    while others and not others[-1].title.endswith(f"{ARROW} {speech.agent}"):
        others.pop()
    return others, all_of_them[len(others) :]


def _outgoing_hand_off(hand_off: Activity) -> str:
    text = _activity_text(hand_off)
    return text if ARROW in text else f"{ARROW} {text}"


def _small_text(notes: list[str], longest: int) -> str:
    """All notes in a line of small text, or the newest."""
    while len(notes) > 1 and len(" \u00b7 ".join(notes)) > longest:
        notes = [f"\u2026 {notes[1]}", *notes[2:]]
    line = clip(" \u00b7 ".join(notes), longest)
    return f"-# {line}"


def _activity_text(activity: Activity) -> str:
    detail = f" {label(activity.detail, 60)}" if activity.detail else ""
    return escape_markdown(f"{label(activity.title, 60)}{detail}")


def _render_line(line: Line) -> Message:
    users = user_ids(line.mentions)
    text = f"-# {LEVELS[line.level]}{_pings(users)}" + clip(
        "\n-# ".join(line.text.splitlines()), 1500
    )
    offers = [Button(kind="command", about=command, label=name) for command, name in line.offers]
    shown: tuple[dict[str, Any], ...] = ()
    if offers and all(len(custom_id(button)) <= LONGEST for button in offers):
        shown = (_row([*map(_button, offers)]),)
    elif line.command:
        text += f" (`{line.command}`)"
    return Message(content=text, components=shown, users=users)


def _render_card(card: Card) -> Message:
    request = card.request
    users = () if card.outcome else user_ids(card.mentions)
    head = f"{_pings(users)}**{escape_markdown(label(request.agent or 'The team', 64))}** "
    if card.away:
        return _render_away_card(card, head, users)
    asks = "asked" if card.outcome else "asks"
    text, files = _question(request, asks)
    text = head + text
    if request.request_kind == "approval" and (request.tool or request.arguments):
        shown, files = _arguments(request)
        text = f"{text}\n{shown}"
    if card.outcome:
        return Message(content=f"{clip(text, 1600)}\n{_ending(card)}", files=files)
    return Message(
        content=clip(text, CONTENT - 100),
        components=tuple(_form(request)),
        users=users,
        files=files,
    )


def _render_away_card(card: Card, head: str, users: tuple[str, ...]) -> Message:
    if card.outcome:
        return Message(content=f"{head}waited for a decision.\n{_ending(card)}")
    return Message(
        content=f"{head}waits for a decision in another conversation: {card.link}",
        components=tuple(_form(card.request)),
        users=users,
    )


def _ending(card: Card) -> str:
    """The outcome in small print."""
    outcome = clip(neutral(card.outcome), 300)
    words = card.ending(outcome, escape_markdown(label(card.by, 64)))
    return "\n".join(f"-# {line}" for line in words.splitlines() if line.strip())


def _question(request: InputRequested, asks: str) -> tuple[str, tuple[Upload, ...]]:
    if request.request_kind == "approval" and request.tool:
        return f"{asks} to run `{_code(label(request.tool, 80))}`", ()
    prompt = neutral(request.prompt)
    if length(prompt) <= QUESTION:
        return f"{asks}:\n{_closed(prompt)}", ()
    file = Upload(name="question.md", data=sanitize(request.prompt).encode("utf-8", "replace"))
    return (
        f"{asks}:\n{_closed(clip(prompt, QUESTION))}\n-# The whole question is in the file below.",
        (file,),
    )


def _arguments(request: InputRequested) -> tuple[str, tuple[Upload, ...]]:
    """The exact arguments, with what can't be seen in them written out."""
    told = request.explanation if request.tool else ""  # without a tool, it stands above
    prompt = _closed(clip(neutral(told), 300)) if told else ""
    shown, files = (
        show_arguments(request.shown_arguments) if request.arguments or request.diff else ("", ())
    )
    return f"{prompt}\n{shown}".strip(), files


def _closed(text: str) -> str:
    """A text of an agent, of which more is said below it."""
    return without_small_print(with_closed_fence(text))


def _form(request: InputRequested) -> Iterable[dict[str, Any]]:
    """The buttons of a request; of many options, menus."""
    rows = buttons(request)
    if request.request_kind == "choices":
        return [_menu(rows[0][:OPTIONS], Button(kind="choices", about=request.request))]
    if len(request.options) > BUTTONS:
        choices = rows[0][: BUTTONS * OPTIONS]
        return [_menu(choices[at : at + OPTIONS]) for at in range(0, len(choices), OPTIONS)]
    return [_row([*map(_button, row)]) for row in rows]


def _menu(choices: Sequence[Button], several: Button | None = None) -> dict[str, Any]:
    menu = {
        "type": 3,
        "custom_id": custom_id(several or choices[0]),
        "max_values": len(choices) if several else 1,
        "placeholder": "Choose",
        "options": [
            {"label": label(each.label, 100) or "\u2026", "value": str(each.number)}
            for each in choices
        ],
    }
    return _row([menu])


def _button(button: Button) -> dict[str, Any]:
    return {
        "type": 2,
        "style": _STYLES.get(button.kind, 2),
        "label": label(button.label, 80) or "\u2026",
        "custom_id": custom_id(button),
    }


def _thumbs(key: str) -> dict[str, Any]:
    rated = [Button(kind="feedback", about=key, number=good) for good in (1, 0)]
    return _row(
        [
            {"type": 2, "style": 2, "emoji": {"name": name}, "custom_id": custom_id(button)}
            for name, button in zip(THUMBS, rated, strict=True)
        ]
    )


def _row(components: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": 1, "components": components}


def user_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """Discord's own ids of those of these people who are on Discord."""
    found = (person.partition(":") for person in ids)
    own = (rest for platform, _, rest in found if platform == PLATFORM and rest.isdigit())
    return tuple(dict.fromkeys(own))[:10]


def _pings(users: Iterable[str]) -> str:
    return "".join(f"<@{user}> " for user in users)


def _code(text: str) -> str:
    return text.replace("`", "\u02cb")


def file_name(name: str) -> str:
    """A name that leads nowhere and hides no ending."""
    base = sanitize(name).replace("\\", "/").rpartition("/")[2]
    return re.sub(r"[^\w.\- ]", "_", base).strip(". ")[:100] or "file"
