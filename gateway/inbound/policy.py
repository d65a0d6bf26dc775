"""What a message means to the team: decisions over values, without any IO."""

from __future__ import annotations

from dataclasses import replace

from gateway.access.authority import Access, Allowed, Denied, Verdict
from gateway.access.pairing import new_code
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN
from gateway.client import Answer
from gateway.conversation import Author, InboundMessage
from gateway.inbound.commands import parse_command
from gateway.store.decisions import (
    Again,
    Cancel,
    Change,
    Decision,
    Drop,
    Enqueue,
    First,
    Forget,
    Ignore,
    PersonLimits,
    Refuse,
    Resolve,
    Revoke,
    Say,
    SetMode,
    Situation,
    Support,
)
from gateway.store.records import Request
from gateway.values import value

PAIR = (
    "I don't know you yet. Ask an operator of this bot to run `parley pair {code}` within an hour; "
    "then write again."
)
NOT_YOURS_ALONE = (
    "Others have written in this thread, too: ask an operator of this bot to delete it."
)
MODE_NOT_YOURS = "Operators say what the mode is here."
FULL = (
    "{waiting} messages wait here already: send this again once the team has come to some of them."
)
BOT_MESSAGES = 20
"""Messages of other bots that are taken within a minute in one conversation."""
WAITS_FOR_APPROVAL = "The team waits for an approval; your message comes after it."
WAITS_FOR_OTHERS = (
    "The team waits for an answer that is not yours to give; your message comes after it."
)
WAITS_FOR_ANSWERS = (
    "The team waits for several answers: reply to the one you mean. Your message comes after them."
)
TOO_LATE = "It is too late for an answer: nobody gave one in time. Your message comes next."


@value
class QueueLimits:
    """How many messages may wait in a thread, and for how long nobody may have written in one that
    collects them before its turn begins, in seconds.
    """

    waiting: int = 20
    collect: float = 3.0


USUAL = QueueLimits()


def decide(
    message: InboundMessage,
    situation: Situation,
    access: Access,
    now: float,
    limits: QueueLimits = USUAL,
    *,
    said_at: float | None = None,
) -> Decision:
    """What becomes of a message in this situation.

    `said_at` is the moment by which answers are too late or not, if that is not `now`: requests
    last on when the time of day is set.
    """
    said_at = now if said_at is None else said_at
    verdict = access.judge(message)
    if isinstance(verdict, Denied) and situation.paired:
        verdict = verdict.once_paired or verdict
    if message.event in ("edit", "delete"):
        return _changed(message, verdict, access)
    answer = _answer_in(message)
    if isinstance(verdict, Denied):
        if answer is None or not _is_approver(message.author, situation.named, access):
            return _refuse(situation, pairing=verdict.once_paired is not None, now=now)
    elif situation.bots >= BOT_MESSAGES:
        return Refuse(reason="too many messages of bots")
    elif answer is None:
        return _taken(message, situation, access, verdict, limits, now, said_at)
    return _answered(message.author, situation.named, answer, access, said_at)


def _changed(message: InboundMessage, verdict: Verdict, access: Access) -> Decision:
    """What it means that a message was edited or deleted on its platform."""
    if message.event == "delete" and not message.author.id:
        return Cancel(anybody=True)  # the platform does not say who, and shows it to nobody
    if isinstance(verdict, Denied):
        return Ignore()
    operator = access.is_operator(message.author)
    return Change(anybody=operator) if message.event == "edit" else Cancel(anybody=operator)


def _taken(
    message: InboundMessage,
    situation: Situation,
    access: Access,
    verdict: Allowed,
    limits: QueueLimits,
    now: float,
    said_at: float,
) -> Decision:
    """What a message means that its author may write and that answers nothing by name."""
    if (command := parse_command(message.text)) is not None:
        operator = access.is_operator(message.author)
        decision = command.decide(_known_to(message.author, situation, access))
        return _commanded(decision, situation, verdict, limits, operator=operator)
    decision = _said(message, situation, access, verdict.limits, said_at)
    if not isinstance(decision, Enqueue):
        return decision
    if situation.waiting >= limits.waiting:
        return _full(situation, now)
    return _queued(decision, situation, verdict, limits)


def _known_to(author: Author, situation: Situation, access: Access) -> Situation:
    """What commands tell of requests is for those who may answer them."""
    mine = tuple(each for each in situation.requests if access.may_answer(author, each))
    return replace(situation, requests=mine)


def _commanded(
    decision: Decision,
    situation: Situation,
    verdict: Allowed,
    limits: QueueLimits,
    *,
    operator: bool,
) -> Decision:
    """What a command means, as far as its author may do it."""
    match decision:
        case Forget() if situation.others and not operator:
            decision = Say(reply=NOT_YOURS_ALONE)
        case SetMode() if not (operator or verdict.may_set_mode):
            decision = Say(reply=MODE_NOT_YOURS)
        case SetMode():
            decision = replace(decision, quiet=_quiet(decision.mode, limits))
        case Drop() | First() | Revoke():
            decision = replace(decision, anybody=operator)
        case Again():
            enqueue = _queued(decision.enqueue, situation, verdict, limits)
            decision = replace(decision, anybody=operator, enqueue=enqueue)
        case _:
            pass
    return decision


def _queued(
    enqueue: Enqueue, situation: Situation, verdict: Allowed, limits: QueueLimits
) -> Enqueue:
    """The message waits as the thread's mode says, which is the route's for a new thread."""
    mode = situation.thread.mode if situation.thread else verdict.mode
    return replace(enqueue, mode=mode, limits=verdict.limits, quiet=_quiet(mode, limits))


def _quiet(mode: str, limits: QueueLimits) -> float:
    return limits.collect if mode == "collect" else 0.0


def _full(situation: Situation, now: float) -> Refuse:
    told = situation.told is not None and now - situation.told < TELL_AGAIN
    reply = "" if told else FULL.format(waiting=situation.waiting)
    return Refuse(reason="too many wait", reply=reply)


def _answer_in(message: InboundMessage) -> Answer | None:
    """The answer that a click or a command gives to the request it names."""
    if message.click is not None:
        return message.click.answer
    command = parse_command(message.text)
    return command.answer if command is not None and command.request else None


def _is_approver(author: Author, request: Request | None, access: Access) -> bool:
    """Somebody who is named as approver may decide wherever they are asked."""
    if request is None or author.id not in request.approvers:
        return False
    return access.may_answer(author, request)


def _refuse(situation: Situation, *, pairing: bool, now: float) -> Refuse:
    if situation.told is not None and now - situation.told < TELL_AGAIN:
        return Refuse(reason="not allowed")
    if not pairing:
        return Refuse(reason="not allowed", reply=NOT_ALLOWED)
    text, code = new_code(now)
    return Refuse(reason="not allowed", reply=PAIR.format(code=text), pair=code)


def named_request(message: InboundMessage) -> str:
    """The id of the request that a message names, "" for none."""
    if message.click is not None:
        return message.click.request
    command = parse_command(message.text)
    return command.request if command is not None else message.reply_to


def _answered(
    author: Author, request: Request | None, answer: Answer, access: Access, now: float
) -> Decision:
    if request is None:
        return Say(reply="There is no such request.")
    if why := _why_not(author, request, answer, access, now):
        return Say(reply=why)
    if answer.kind in ("approve", "approve_always") and request.quorum > 1:
        return _supported(author, request, answer)
    return Resolve(
        request=request.id,
        answer=answer,
        outcome=_outcome(answer),
        grant=answer.kind == "approve_always",
    )


def _why_not(author: Author, request: Request, answer: Answer, access: Access, now: float) -> str:
    """Why the author can't answer the request so, "" if they can."""
    if request.state != "open":
        return f"This was settled already: {request.outcome}."
    if _is_over(request, now):
        return "It is too late: nobody decided in time."
    if not access.may_answer(author, request):
        return "This is not yours to answer."
    if answer.kind == "approve_always" and not request.always:
        return "This can't be approved for the whole thread; approve it once."
    if (request.kind == "approval") != (answer.kind != "text"):
        wanted = "approve or deny" if request.kind == "approval" else "answer it in words"
        return f"This request wants something else: {wanted}."
    return ""


def _is_over(request: Request, now: float) -> bool:
    """Whether its time is over, though nobody may have noticed yet."""
    return request.expires_at is not None and request.expires_at <= now


def _supported(author: Author, request: Request, answer: Answer) -> Decision:
    """An approval that several people have to give; the rest of the thread is included if all of
    them say so.
    """
    approved = len({*request.supporters, author.id})
    always = answer.kind == "approve_always"
    if author.id in request.supporters:
        return Say(reply=f"You have approved this; {approved} of {request.quorum} have so far.")
    if approved < request.quorum:
        return Support(request=request.id, always=always, approved=approved, quorum=request.quorum)
    everybody = Answer(kind="approve_always" if always and request.always_so_far else "approve")
    return Resolve(
        request=request.id,
        answer=everybody,
        outcome=f"{_outcome(everybody)} by {approved} people",
        grant=everybody.kind == "approve_always",
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


def _said(
    message: InboundMessage,
    situation: Situation,
    access: Access,
    limits: PersonLimits | None,
    said_at: float,
) -> Decision:
    questions = [request for request in situation.requests if request.kind != "approval"]
    mine = [request for request in questions if access.may_answer(message.author, request)]
    asked = situation.named
    if asked is None or asked.state != "open" or asked.kind == "approval":
        asked = mine[0] if len(mine) == 1 and len(questions) == 1 else None
    if asked is not None and message.text and access.may_answer(message.author, asked):
        if _is_over(asked, said_at):
            return Enqueue(notice=TOO_LATE, limits=limits, late=True)
        answer = Answer(kind="text", text=_choice(message.text, asked.options))
        return Resolve(request=asked.id, answer=answer, outcome=_outcome(answer))
    if any(request.kind == "approval" for request in situation.requests):
        return Enqueue(notice=WAITS_FOR_APPROVAL, limits=limits)
    if questions:
        return Enqueue(notice=WAITS_FOR_ANSWERS if mine else WAITS_FOR_OTHERS, limits=limits)
    return Enqueue(notice=_in_line(situation, limits), limits=limits)


def _in_line(situation: Situation, limits: PersonLimits | None) -> str:
    """Where the message stands in its author's line, if their limits let it wait."""
    load = situation.load
    if limits is None:
        return ""
    place = load.waiting + 1
    if load.running >= limits.parallel:
        running = f"{load.running} of your turns are" if load.running > 1 else "a turn of yours is"
        return f"Number {place} in your line: {running} running already."
    if load.begun >= limits.turns:
        return f"Number {place} in your line: you had {load.begun} turns within ten minutes."
    return ""


def _choice(text: str, options: tuple[str, ...]) -> str:
    """The option that a text names, by its words or its number; else the text."""
    wanted = text.strip()
    for option in options:
        if option.casefold() == wanted.casefold():
            return option
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(options):
        return options[int(wanted) - 1]
    return text
