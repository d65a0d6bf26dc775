"""The meaning of a message to the team: decisions over frozen values, without any IO."""

from __future__ import annotations

from dataclasses import field, replace

from gateway.access.authority import Access, Admission, Denial, Verdict
from gateway.access.operators import Operators
from gateway.access.pairing import DrawnCode, draw_code
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN
from gateway.budgets.usage import UsageRules
from gateway.client import Answer
from gateway.config.settings import Attachments
from gateway.content.attachments import refusal
from gateway.conversation import InboundMessage
from gateway.inbound.answers import answer_in_words, decide_answer, is_approver, is_over
from gateway.inbound.commands import Command, parse_command
from gateway.inbound.replies import offer_after, reply_to
from gateway.sessions.dispatcher import Crowd
from gateway.store.decisions import (
    CommandReply,
    Decision,
    GrantRevocation,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    NoAction,
    PersonLimits,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    Situation,
    ThreadDeletion,
    UsageReply,
)
from gateway.store.records import crowds_of
from gateway.store.rulebook import Fact, MessageMissed, Offer
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
CROWDED = {
    "team": "The team has as many turns at a time as it may; your message waits for one to end.",
    "workspace": "This workspace has as many turns at a time as it may; your message waits for one"
    " to end.",
}
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


def command_in(message: InboundMessage) -> Command | None:
    """The command that a message is; an edit, a deletion and a click never are one."""
    if message.event in ("edit", "delete") or message.click is not None:
        return None
    return parse_command(message.text)


@value
class MessageRules:
    """The rulebook of one message: all that decides about it but what the store finds.

    `team` is that of the thread it would make, `crowded` those that have all the turns they may
    have. `said_at` is the moment by which answers are too late or not, if that is not `now`:
    requests last on when the time of day is set. `code` is for an author who may be let in by one.
    """

    message: InboundMessage
    command: Command | None
    verdict: Verdict
    operators: Operators
    usage: UsageRules
    now: float
    said_at: float
    team: str = ""
    queue: QueueLimits = USUAL
    files: Attachments = field(default_factory=Attachments)
    crowded: frozenset[Crowd] = frozenset()
    code: DrawnCode | None = None

    @property
    def named(self) -> str:
        """The id of the request that the message names, "" for none."""
        if self.message.click is not None:
            return self.message.click.request
        return self.command.request if self.command is not None else self.message.reply_to

    def reply(self, fact: Fact) -> str:
        """Say in words what a command has found."""
        return reply_to(fact, self.usage)

    def offer(self, missed: MessageMissed) -> Offer:
        """Offer people what may be done about a message that was changed too late."""
        return offer_after(missed)

    def decide(self, situation: Situation) -> Decision:
        """Decide what becomes of the message in this situation."""
        decision = self._decide(situation)
        match decision:
            case QueueEntry() | MessageEdit():
                return self._bounded(decision, situation)
            case UsageReply():
                return replace(decision, queries=self.usage.queries(situation.thread))
            case _:
                return decision

    def _bounded(self, decision: QueueEntry | MessageEdit, situation: Situation) -> Decision:
        """The decision if its files are taken, with a word to who has to wait for others."""
        thread, message = situation.thread, self.message
        if files := (*message.attachments, *message.awaited):
            held = thread.attached if thread else 0
            if said := refusal(files, self.files, held=held):
                return MessageRefusal(reason="files", reply=said)
        if (
            isinstance(decision, MessageEdit)
            or decision.notice
            or situation.busy
            or not self.crowded
        ):
            return decision
        team, key = (thread.team, thread.key) if thread else (self.team, message.key)
        full = next((crowd for crowd in crowds_of(team, key) if crowd in self.crowded), None)
        return decision if full is None else replace(decision, notice=CROWDED[full[0]])

    def _decide(self, situation: Situation) -> Decision:
        verdict = self.verdict
        if isinstance(verdict, Denial) and situation.paired:
            verdict = verdict.once_paired or verdict
        if self.message.event in ("edit", "delete"):
            return self._changed(verdict)
        author, named, answer = self.message.author, situation.named, self._answer
        if isinstance(verdict, Denial):
            if answer is None or not is_approver(author, named, self.operators):
                return self._refuse(situation)
        elif situation.bots >= BOT_MESSAGES:
            return MessageRefusal(reason="too many messages of bots")
        elif answer is None:
            return self._taken(situation, verdict)
        return decide_answer(author, named, answer, self.operators, self.said_at)

    @property
    def _operator(self) -> bool:
        return self.operators.include(self.message.author)

    @property
    def _answer(self) -> Answer | None:
        """The answer that a click or a command gives to the request it names."""
        if self.message.click is not None:
            return self.message.click.answer
        return self.command.answer if self.command is not None and self.command.request else None

    def _changed(self, verdict: Verdict) -> Decision:
        """What it means that a message was edited or deleted on its platform."""
        deleted = self.message.event == "delete"
        if deleted and not self.message.author.id:
            return MessageWithdrawal(
                anybody=True
            )  # the platform does not say who, and shows it to nobody
        if isinstance(verdict, Denial):
            return NoAction()
        return (
            MessageWithdrawal(anybody=self._operator)
            if deleted
            else MessageEdit(anybody=self._operator)
        )

    def _refuse(self, situation: Situation) -> MessageRefusal:
        if self._was_told(situation):
            return MessageRefusal(reason="not allowed")
        if self.code is None:
            return MessageRefusal(reason="not allowed", reply=NOT_ALLOWED)
        reply = PAIR.format(code=self.code.text)
        return MessageRefusal(reason="not allowed", reply=reply, pair=self.code.kept(self.now))

    def _was_told(self, situation: Situation) -> bool:
        """Whether the author was refused here not long ago."""
        return situation.told is not None and self.now - situation.told < TELL_AGAIN

    def _taken(self, situation: Situation, verdict: Admission) -> Decision:
        """What a message means that its author may write and that answers nothing by name."""
        if self.command is not None:
            decision = self.command.decide(self._known_to_author(situation))
            return self._commanded(decision, situation, verdict)
        decision = self._said(situation, verdict.limits)
        if not isinstance(decision, QueueEntry):
            return decision
        if situation.waiting >= self.queue.waiting:
            said = "" if self._was_told(situation) else FULL.format(waiting=situation.waiting)
            return MessageRefusal(reason="too many wait", reply=said)
        return self._queued(decision, situation, verdict)

    def _known_to_author(self, situation: Situation) -> Situation:
        """What commands tell of requests is for those who may answer them."""
        author, operators = self.message.author, self.operators
        mine = tuple(each for each in situation.requests if operators.may_answer(author, each))
        return replace(situation, requests=mine)

    def _commanded(self, decision: Decision, situation: Situation, verdict: Admission) -> Decision:
        """What a command means, as far as its author may do it."""
        operator = self._operator
        match decision:
            case ThreadDeletion() if situation.others and not operator:
                decision = CommandReply(reply=NOT_YOURS_ALONE)
            case ModeChange() if not (operator or verdict.may_set_mode):
                decision = CommandReply(reply=MODE_NOT_YOURS)
            case ModeChange():
                decision = replace(decision, quiet=self._quiet(decision.mode))
            case QueueRemoval() | QueuePromotion() | GrantRevocation():
                decision = replace(decision, anybody=operator)
            case RepeatedTurn():
                enqueue = self._queued(decision.enqueue, situation, verdict)
                decision = replace(decision, anybody=operator, enqueue=enqueue)
            case _:
                pass
        return decision

    def _queued(self, enqueue: QueueEntry, situation: Situation, verdict: Admission) -> QueueEntry:
        """The message waits as the thread's mode says, which is the route's for a new thread."""
        mode = situation.thread.mode if situation.thread else verdict.mode
        return replace(enqueue, mode=mode, limits=verdict.limits, quiet=self._quiet(mode))

    def _quiet(self, mode: str) -> float:
        return self.queue.collect if mode == "collect" else 0.0

    def _said(self, situation: Situation, limits: PersonLimits | None) -> Decision:
        author, text, operators = self.message.author, self.message.text, self.operators
        questions = [request for request in situation.requests if request.kind != "approval"]
        mine = [request for request in questions if operators.may_answer(author, request)]
        asked = situation.named
        if asked is None or asked.state != "open" or asked.kind == "approval":
            asked = mine[0] if len(mine) == 1 and len(questions) == 1 else None
        if asked is not None and text and operators.may_answer(author, asked):
            if is_over(asked, self.said_at):
                return QueueEntry(notice=TOO_LATE, limits=limits, late=True)
            return answer_in_words(asked, text)
        if any(request.kind == "approval" for request in situation.requests):
            return QueueEntry(notice=WAITS_FOR_APPROVAL, limits=limits)
        if questions:
            return QueueEntry(notice=WAITS_FOR_ANSWERS if mine else WAITS_FOR_OTHERS, limits=limits)
        return QueueEntry(notice=_in_line(situation, limits), limits=limits)


def usual_rules(message: InboundMessage, access: Access, *, now: float) -> MessageRules:
    """The rules of a message where nothing but the access was configured."""
    operators = access.operators
    verdict = access.judge(message)
    pairs = isinstance(verdict, Denial) and verdict.once_paired is not None
    return MessageRules(
        message=message,
        command=command_in(message),
        verdict=verdict,
        operators=operators,
        usage=UsageRules(asker=message.author, operator=operators.include(message.author), now=now),
        now=now,
        said_at=now,
        code=draw_code() if pairs else None,
    )


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
