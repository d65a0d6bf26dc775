"""Parts as Slack's blocks.

Pure; the limits are those of https://docs.slack.dev/reference/block-kit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from adapters.slack.action_ids import (
    EVENT_TYPE,
    SECTION,
    Block,
    action_id,
    actions,
    button_element,
    choices_input,
    numbered,
    option,
    plain,
    section,
)
from adapters.slack.connection.payload import slack_ids
from adapters.slack.outbound.arguments import argument_blocks, blocks_beside_file, is_too_long
from adapters.slack.outbound.text import length, mentions, neutral
from gateway.events import InputRequested, NoticeLevel
from gateway.interactions import Button, buttons
from gateway.render.arguments import plain_text
from gateway.render.sanitize import label, sanitize
from gateway.render.split import split
from gateway.surface import Activity, ActivityStatus, Card, File, Line, Part, Speech

Own: TypeAlias = Callable[[str], str]
"""A gateway line as mrkdwn."""

CONTEXT = 1900
QUESTION = 8_000
"""Characters of a question on its card; a longer one comes as a file."""
BUTTONS = 5
"""Options shown as buttons; more of them come as a menu."""
ACTIVITIES = 1500
"""Characters of what an agent did: all blocks of a message together hold about 13,000."""
DETAIL = 200

LINK = re.compile(r"https://[^\s<>|]+")

UNSURE = ":warning: This message may appear twice."
RESUMING = ":arrows_counterclockwise: Interrupted. The answer will continue in a moment."
_LEVELS: dict[NoticeLevel, str] = {"info": "", "warning": ":warning: ", "error": ":x: "}
_STATUS: dict[ActivityStatus, str] = {
    "running": ":hourglass_flowing_sand:",
    "done": ":white_check_mark:",
    "failed": ":x:",
    "unknown": ":grey_question:",
    "stopped": ":black_square_for_stop:",
}


def metadata(key: str) -> dict[str, Any]:
    """The metadata by which a message is found again."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key}}


def context(*lines: str) -> Block:
    """Small print."""
    elements = [{"type": "mrkdwn", "text": line} for line in lines]
    return {"type": "context", "elements": elements}


def speech_blocks(part: Part, speech: Speech, *, named: bool, feedback: bool) -> list[Block]:
    """A message of an agent that is not streamed."""
    blocks: list[Block] = [context(UNSURE)] if part.unsure else []
    blocks += heading(speech, named=named)
    if before := [each for each in speech.activity if not each.after]:
        blocks.append(context(activity_lines(before)))
    if speech.text:
        blocks.append({"type": "markdown", "text": speech.text})
    blocks += rest(speech)
    if after := [each for each in speech.activity if each.after]:
        blocks.append(context(activity_lines(after)))
    if speech.resuming:
        blocks.append(context(RESUMING))
    elif feedback and speech.text and speech.last and not (speech.growing or speech.mark):
        blocks.append(feedback_block(part.key))
    return blocks or [context("\u2026")]


def heading(speech: Speech, *, named: bool) -> list[Block]:
    """The agent's name above the text, where the message lacks it.

    In small print, which no text of an agent's can be in.
    """
    return [] if named else [context(f"*{mrkdwn(label(speech.agent, 80))}*")]


def rest(speech: Speech) -> list[Block]:
    """Small print on where the rest of a text is."""
    lines = [speech.mark] if speech.mark else []
    if name := mrkdwn(label(speech.rest_in, 80)):
        lines.insert(0, f"The rest is in {name} below.")
    return [context(*lines)] if lines else []


def activity_lines(activity: Sequence[Activity]) -> str:
    """Tool calls and hand-offs, a line each; of many, the last."""
    lines: list[str] = []
    for each in reversed(activity):
        line = activity_line(each)
        if sum(map(len, lines)) + len(line) > ACTIVITIES:
            lines.append(f"\u2026 {len(activity) - len(lines)} earlier steps")
            break
        lines.append(line)
    return "\n".join(reversed(lines))


def activity_line(activity: Activity) -> str:
    """One of them."""
    title = mrkdwn(label(activity.title, 150))
    if activity.kind == "handoff":
        return f":arrow_right: {title}"
    detail = mrkdwn(label(activity.detail, 90))
    return f"{_STATUS[activity.status]} {title}" + (f" \u00b7 {detail}" if detail else "")


def feedback_block(key: str) -> Block:
    """Thumbs under an agent's message."""
    return {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": action_id("feedback"),
                "positive_button": {
                    "text": plain("Good answer"),
                    "accessibility_label": "Rate this answer as good",
                    "value": numbered(key, 1),
                },
                "negative_button": {
                    "text": plain("Bad answer"),
                    "accessibility_label": "Rate this answer as bad",
                    "value": numbered(key, 0),
                },
            }
        ],
    }


def line_blocks(part: Part, line: Line, own: Own) -> list[Block]:
    """The blocks of a gateway line."""
    whom = mentions(_users(line.mentions))
    text = _LEVELS[line.level] + (f"{whom} " if whom else "") + own(line.text)
    blocks: list[Block] = [context(UNSURE)] if part.unsure else []
    if line.level == "info" and not whom and length(text) <= SECTION:
        blocks.append(context(text))
    else:
        blocks += [section(piece) for piece in pieces(text, SECTION)]
    if line.offers:
        offers = [
            Button(kind="command", about=command, label=name, number=place)
            for place, (command, name) in enumerate(line.offers)
        ]
        blocks.append(actions(*map(button_element, offers)))
    return blocks


def card_blocks(part: Part, card: Card, own: Own, *, attached: str = "") -> list[Block]:
    """A request to people: open with buttons, or settled.

    `attached` is the name of the file that holds a tool's arguments.
    """
    blocks: list[Block] = [context(UNSURE)] if part.unsure else []
    whom = mentions(_users(card.mentions)) if not card.outcome else ""
    request = card.request
    mark = "" if card.outcome else ":raised_hand:"
    where = f" <{card.link}|Open the thread>" if LINK.fullmatch(card.link) else ""
    blocks.append(section(" ".join(filter(None, (mark, whom, asking(card) + where)))))
    if request.request_kind != "approval":
        blocks += [] if card.away else _question(request, attached)
    else:
        told = "" if card.away else own(request.explanation)
        blocks += [section(piece) for piece in pieces(told, SECTION)]
        blocks += _arguments(request, attached)
    if card.outcome:
        return [*blocks, *_settled(card, own)]
    can_tell = not card.away or request.request_kind == "approval"
    return [*blocks, *(request_buttons(request) if can_tell else ())]


def attachment(request: InputRequested) -> File | None:
    """The file of what is too long for a request's card."""
    match request.request_kind:
        case "approval" if request.tool or request.arguments:
            arguments = request.shown_arguments
            if not is_too_long(arguments):
                return None
            data = plain_text(arguments).encode()
            return File(name=f"arguments-{request.request}.txt", data=data)
        case "text" | "choice" | "choices" if length(neutral(request.prompt)) > QUESTION:
            data = sanitize(request.prompt).encode("utf-8", "replace")
            return File(name=f"question-{request.request}.md", data=data)
        case _:
            return None


def pieces(text: str, longest: int) -> list[str]:
    """Split a text at lines or words, at most `longest` each."""
    found: list[str] = []
    while len(text) > longest:
        at = max(text.rfind("\n", 0, longest), text.rfind(" ", longest // 2, longest))
        at = at if at > 0 else longest
        found.append(text[:at])
        text = text[at:].lstrip("\n") if at < longest else text[at:]
    return [*found, text] if text else found


def asking(card: Card) -> str:
    """The asker and the request in mrkdwn."""
    request, over = card.request, bool(card.outcome)
    agent = f"*{mrkdwn(label(request.agent or 'The team', 80))}*"
    if request.request_kind == "approval" and request.tool:
        tool = mrkdwn(label(request.tool, 150))
        return f"{agent} {'asked' if over else 'asks'} to run `{tool}`."
    if card.away:
        return f"{agent} {'waited' if over else 'waits'} for a decision."
    return f"{agent} {'asked' if over else 'asks'}:"


def _question(request: InputRequested, attached: str) -> list[Block]:
    """A question as its agent wrote it."""
    text = neutral(request.prompt) or "The team is waiting for an answer."
    if not attached:
        return [{"type": "markdown", "text": text}]
    beginning = split(text, limit=SECTION, length=length)[0].text
    rest = f"The whole question is in {mrkdwn(label(attached, 150))} above."
    return [{"type": "markdown", "text": beginning}, context(rest)]


def _arguments(request: InputRequested, attached: str) -> list[Block]:
    """All arguments of a tool."""
    if not (request.tool or request.arguments):
        return []
    arguments = request.shown_arguments
    if attached:
        return blocks_beside_file(arguments, mrkdwn(label(attached, 150)))
    return argument_blocks(arguments)


def request_buttons(request: InputRequested) -> list[Block]:
    """The buttons of a request; of many options, a menu."""
    rows = buttons(request)
    if request.request_kind == "choices":
        send = Button(kind="choices", about=request.request, label="Send")
        return [choices_input(rows[0]), actions(button_element(send))]
    if len(request.options) > BUTTONS:
        return [actions(_menu(rows[0]))]
    found = [actions(*map(button_element, row)) for row in rows]
    typed = request.request_kind == "text"
    return [*found, context("or reply in this thread")] if typed else found


def _menu(choices: Sequence[Button]) -> Block:
    options = [
        {"text": option(each.label), "value": numbered(each.about, each.number)} for each in choices
    ]
    menu: Block = {
        "type": "static_select",
        "action_id": action_id("choice"),
        "placeholder": plain("Choose"),
    }
    if len(options) <= 100:  # noqa: PLR2004 (Slack's limit)
        return menu | {"options": options}
    groups = [
        {"label": plain(f"{at + 1}\u2013{at + len(some)}"), "options": some}
        for at in range(0, min(len(options), 10_000), 100)
        if (some := options[at : at + 100])
    ]
    return menu | {"option_groups": groups}


def _settled(card: Card, own: Own) -> list[Block]:
    words = card.ending(own(card.outcome), mrkdwn(label(card.by, 80)))
    return [context(piece) for piece in pieces(words, CONTEXT)]


def _users(authors: Sequence[str]) -> list[str]:
    return [found[1] for author in authors if (found := slack_ids(author))]


def mrkdwn(text: str) -> str:
    """A name or a title as mrkdwn, without marks."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("*", "\u2217").replace("`", "\u02cb")
