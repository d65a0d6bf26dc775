"""What a message means to the team, and who may do what: decisions over values, without any IO."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from gateway.client import Answer
from gateway.commands import parse_command
from gateway.conversation import LOCAL_OPERATOR, Author, InboundMessage
from gateway.store.protocols import (
    Decision,
    Enqueue,
    Refuse,
    Request,
    Resolve,
    Say,
    Situation,
)

TELL_AGAIN = 3600.0
"""Seconds until a person who is refused is told so again in the same conversation."""

NOT_ALLOWED = "You may not write to this team."
WAITS_FOR_APPROVAL = "The team waits for an approval; your message comes after it."
WAITS_FOR_OTHERS = (
    "The team waits for an answer that is not yours to give; your message comes after it."
)
WAITS_FOR_ANSWERS = (
    "The team waits for several answers: reply to the one you mean. Your message comes after them."
)


class Access(Protocol):
    """The one authority on who may do what; it judges the actor of each event alike."""

    def may_write(self, message: InboundMessage) -> bool:
        """Whether the author may speak to the team there."""
        ...

    def may_answer(self, author: Author, request: Request) -> bool:
        """Whether the author may answer this request."""
        ...


@dataclass(frozen=True, slots=True)
class OperatorsOnly:
    """Nobody but the operators: what holds where nothing else is configured."""

    operators: Collection[str] = frozenset({LOCAL_OPERATOR.id})

    def may_write(self, message: InboundMessage) -> bool:
        """Whether the author is an operator."""
        return message.author.id in self.operators

    def may_answer(self, author: Author, request: Request) -> bool:
        """An operator may answer anything; whose message the team works on, anything but an
        approval.
        """
        if author.id in self.operators:
            return True
        return request.kind != "approval" and author.id == request.asker


def decide(message: InboundMessage, situation: Situation, access: Access, now: float) -> Decision:
    """What becomes of a message in this situation."""
    if not access.may_write(message):
        told = situation.told is not None and now - situation.told < TELL_AGAIN
        return Refuse(reason="not allowed", reply="" if told else NOT_ALLOWED)
    if message.click is not None:
        return _answered(message.author, situation.named, message.click.answer, access)
    command = parse_command(message.text)
    if command is None:
        return _said(message, situation, access)
    if command.request:
        return _answered(message.author, situation.named, command.answer, access)
    return command.decide(situation)


def named_request(message: InboundMessage) -> str:
    """The id of the request that a message names, "" for none."""
    if message.click is not None:
        return message.click.request
    command = parse_command(message.text)
    return command.request if command is not None else message.reply_to


def _answered(author: Author, request: Request | None, answer: Answer, access: Access) -> Decision:
    if request is None:
        return Say(reply="There is no such request.")
    if request.state != "open":
        return Say(reply=f"This was settled already: {request.outcome}.")
    if not access.may_answer(author, request):
        return Say(reply="This is not yours to answer.")
    if (request.kind == "approval") != (answer.kind != "text"):
        wanted = "approve or deny" if request.kind == "approval" else "answer it in words"
        return Say(reply=f"This request wants something else: {wanted}.")
    return Resolve(
        request=request.id,
        answer=answer,
        outcome=_outcome(answer),
        grant=answer.kind == "approve_always",
    )


def _outcome(answer: Answer) -> str:
    match answer.kind:
        case "approve":
            return "approved"
        case "approve_always":
            return "approved for this thread"
        case "deny":
            return f"denied: {answer.text}" if answer.text else "denied"
        case "text":
            return answer.text


def _said(message: InboundMessage, situation: Situation, access: Access) -> Decision:
    questions = [request for request in situation.requests if request.kind != "approval"]
    mine = [request for request in questions if access.may_answer(message.author, request)]
    asked = situation.named
    if asked is None or asked.state != "open" or asked.kind == "approval":
        asked = mine[0] if len(mine) == 1 and len(questions) == 1 else None
    if asked is not None and message.text and access.may_answer(message.author, asked):
        answer = Answer(kind="text", text=_choice(message.text, asked.options))
        return Resolve(request=asked.id, answer=answer, outcome=_outcome(answer))
    if any(request.kind == "approval" for request in situation.requests):
        return Enqueue(notice=WAITS_FOR_APPROVAL)
    if questions:
        return Enqueue(notice=WAITS_FOR_ANSWERS if mine else WAITS_FOR_OTHERS)
    return Enqueue()


def _choice(text: str, options: tuple[str, ...]) -> str:
    """The option that a text names, by its words or its number; else the text."""
    wanted = text.strip()
    for option in options:
        if option.casefold() == wanted.casefold():
            return option
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(options):
        return options[int(wanted) - 1]
    return text
