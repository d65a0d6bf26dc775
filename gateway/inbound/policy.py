"""Meaning of a message: decisions over frozen values, without IO."""

from __future__ import annotations

import math
from dataclasses import field, replace

from gateway.access.authority import Access, Admission, Denial, Operators, Verdict
from gateway.access.pairing import DrawnCode, draw_code
from gateway.adapter import NOT_ALLOWED, TELL_AGAIN
from gateway.budgets.usage import UsageRules
from gateway.client import Answer
from gateway.config.budgets import Budget
from gateway.config.routes import Reset
from gateway.config.settings import Attachments
from gateway.content.addressee import Addressee, addressee_of
from gateway.content.attachments import refusal, told_of
from gateway.conversation import LOCAL_OPERATOR, InboundMessage
from gateway.events import ASK
from gateway.inbound.answers import answer_in_words, decide_answer, is_approver, is_over
from gateway.inbound.commands import Command, parse_command
from gateway.inbound.model_choice import TeamModels, choose
from gateway.inbound.replies import FULL_OF_FORKS, HOW_FORK, offer_after, reply_to
from gateway.inbound.resets import why_anew
from gateway.inbound.team_choice import choose_team
from gateway.missed import BEFORE_LOSS
from gateway.store.decisions import (
    DELETED,
    SENT_TWICE,
    ApprovalChange,
    CommandedTurn,
    CommandReply,
    Decision,
    ForkPlan,
    GrantRevocation,
    MessageEdit,
    MessageOffer,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    ModelChange,
    NewConversation,
    NoAction,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    ThreadDeletion,
    ThreadFork,
    TurnRetry,
    UsageReply,
)
from gateway.store.records import Request, Situation, Thread
from gateway.store.rulebook import Fact, MessageMissed, Offer
from gateway.values import value

PAIR = (
    "I don't know you yet. Ask an operator of this bot to run `parley pair {code}` within an hour; "
    "then write again."
)
CODE_GIVEN = (
    "I don't know you yet, but I gave you a code within the last hour. Ask an operator of this bot "
    "to run `parley pair` with it; then write again."
)
NOT_YOURS_ALONE = (
    "Other people have written in this thread or in forks of it, which are deleted with it. Ask an "
    "operator of this bot to delete it."
)
APPROVAL_NOT_YOURS = "The mode of approval is changed in the terminal."
MODE_NOT_YOURS = "Only operators may change the mode here."
FULL = "{waiting} messages are already waiting here. Send yours again when some of them are done."
SPREAD = (
    "Messages of yours are already waiting in {threads} other threads. Send this one again when "
    "some of them are done."
)
BOT_MESSAGES = 20
"""Messages that are taken within a minute of one bot in a workspace, of all in a conversation."""
WAITING_THREADS = 20
"""Threads of one person in which messages of theirs may wait."""
MISSED = 10
"""As many times more messages may wait that were written while Parley was away.

Nobody could tell their authors that too many wait, and one turn takes those of one author in a row.
"""
WAITS_FOR_APPROVAL = "The team is waiting for an approval. Your message comes after that."
WAITS_FOR_OTHERS = "The team is waiting for somebody else's answer. Your message comes after that."
WAITS_FOR_ANSWERS = (
    "The team is waiting for several answers. To answer one, reply to its question. Your message "
    "comes after them."
)
TOO_LATE = "The question has expired. Your message comes next."
NO_TASK = "What should {name} do? Write it after the name: @{name} ..."
JOINS = (
    "The team is already working, and your message joins that work. @{name} reads it with the "
    "others, and is not called first."
)


PRIVATE = frozenset({"command", "click", "modal", "shortcut", "stop"})
"""Events that nothing but a reply shows to have arrived, one that only their author sees."""
SAID = frozenset({"message", "file"})
"""Events that may be between people."""


def command_in(message: InboundMessage) -> Command | None:
    """Command in a message; none in an edit, deletion or click."""
    if message.event in ("edit", "delete") or message.click is not None:
        return None
    return parse_command(message.text)


@value
class MessageRules:
    """Rulebook of one message.

    `team` is that of the thread it would make, with these `participants`, `waiting` how many
    messages may wait there, and `collect` the seconds without one before the turn of a thread that
    collects them begins. `said_at` is the moment by which answers are too late or not, if that is
    not `now`: requests last on when the time of day is set. `code` is for an author who may be let
    in by one. /usage tells of `budgets`, with times in the `zone`, /model of each team's `models`.
    What was said since the process `began` is live, whenever a clock that was wrong has dated a
    loss.
    """

    message: InboundMessage
    command: Command | None
    verdict: Verdict
    operators: Operators
    now: float
    said_at: float
    team: str = ""
    participants: tuple[str, ...] = ()
    waiting: int = 20
    collect: float = 3.0
    files: Attachments = field(default_factory=Attachments)
    budgets: tuple[Budget, ...] = ()
    zone: str = ""
    began: float = math.inf
    code: DrawnCode | None = None
    models: tuple[TeamModels, ...] = ()
    fork: ForkPlan | str = HOW_FORK
    """The plan that /fork carries out, or why there is none."""
    teams: tuple[str, ...] = ()
    """Teams that its author may choose; none without a choice."""

    @property
    def named(self) -> str:
        """The id of the request that the message names, "" for none."""
        if self.message.click is not None:
            return self.message.click.request
        return self.command.request if self.command is not None else self.message.reply_to

    def reply(self, fact: Fact) -> str:
        """Say in words what a command has found."""
        return reply_to(fact, self._usage)

    def offer(self, missed: MessageMissed) -> Offer:
        """Offer a command after a change that came too late."""
        return offer_after(missed)

    def decide(self, situation: Situation) -> Decision:
        """Decide what becomes of the message in this situation."""
        if reason := self._overtaken(situation):
            return MessageRefusal(reason=reason)
        decision = self._decide(situation)
        match decision:
            case QueueEntry() | MessageEdit():
                return self._bounded(decision, situation)
            case UsageReply():
                return replace(decision, queries=self._usage.queries(situation.thread))
            case _:
                return decision

    def _bounded(self, decision: QueueEntry | MessageEdit, situation: Situation) -> Decision:
        """Decision on a message with its files, and a notice on waiting."""
        thread, message = situation.thread, self.message
        if files := message.attachments:
            anew = isinstance(decision, QueueEntry) and decision.anew
            held = thread.attached if thread and not anew else 0
            if said := refusal(files, self.files, held=held):
                return MessageRefusal(reason="files", reply=said)
        if isinstance(decision, MessageEdit):
            return decision
        said = (told_of(message.attachments, message.missing), decision.notice)
        return replace(decision, notice="\n".join(filter(None, said)))

    def _decide(self, situation: Situation) -> Decision:
        verdict = self.verdict
        if isinstance(verdict, Denial) and situation.paired:
            verdict = verdict.once_paired or verdict
        if self.message.event in ("edit", "delete"):
            return self._changed(verdict)
        if 0 < self.message.at <= min(situation.lost_until, self.began):
            return self._before_loss(situation, verdict)
        author, named = self.message.author, situation.named
        answer = self._answer_to(named)
        if isinstance(verdict, Denial):
            if answer is None or not is_approver(author, named, self.operators):
                return self._refuse(situation)
        elif situation.bots >= BOT_MESSAGES:
            return MessageRefusal(reason="too many messages of bots")
        elif answer is None:
            return self._decide_allowed(situation, verdict)
        return decide_answer(author, named, answer, self.operators, self.said_at)

    def _before_loss(self, situation: Situation, verdict: Verdict) -> Decision:
        """Decision on what may have been done before a loss."""
        said = self.message.event in SAID and self.message.click is None
        if said and (isinstance(verdict, Denial) or self._is_for_others(situation)):
            return NoAction()
        if said and self.command is None:
            return MessageOffer()
        return CommandReply(reply=BEFORE_LOSS)

    def _overtaken(self, situation: Situation) -> str:
        """Reason of a message that came too late to count, or ""."""
        if situation.repeated:
            return SENT_TWICE
        changes = self.message.event in ("edit", "delete")
        return DELETED if situation.deleted and not changes else ""

    @property
    def _private(self) -> bool:
        """True if the author waits for a reply that they alone see."""
        return self.message.event in PRIVATE

    @property
    def _operator(self) -> bool:
        return self.operators.include(self.message.author)

    @property
    def _usage(self) -> UsageRules:
        return UsageRules(
            budgets=self.budgets,
            zone=self.zone,
            asker=self.message.author,
            operator=self._operator,
            now=self.now,
        )

    def _answer_to(self, named: Request | None) -> Answer | None:
        """Answer in a click, or in a command that names a request."""
        if self.message.click is not None:
            return self.message.click.answer_to(named.options if named is not None else ())
        return self.command.answer if self.command is not None and self.command.request else None

    def _changed(self, verdict: Verdict) -> Decision:
        """Decision on an edit or deletion on the platform."""
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
        if self._was_refused_lately(situation):
            again = NOT_ALLOWED if self.code is None else CODE_GIVEN
            return MessageRefusal(reason="not allowed", reply=again if self._private else "")
        if self.code is None:
            return MessageRefusal(reason="not allowed", reply=NOT_ALLOWED)
        reply = PAIR.format(code=self.code.text)
        return MessageRefusal(reason="not allowed", reply=reply, pair=self.code.kept(self.said_at))

    def _was_refused_lately(self, situation: Situation) -> bool:
        """True if the author was refused here not long ago."""
        return situation.told is not None and self.now - situation.told < TELL_AGAIN

    def _decide_allowed(self, situation: Situation, verdict: Admission) -> Decision:
        """Decision on a permitted message that names no request."""
        if self.command is not None:
            known = self._known_to_author(situation)
            decision = self._only_verdict(known) or self.command.decide(known)
            decision = self._decide_command(decision, situation, verdict)
            return self._too_many(situation) or decision if _queues(decision) else decision
        decision = self._decide_text(situation, verdict)
        if not _queues(decision):
            return decision
        if self._is_for_others(situation):
            return NoAction()
        return self._too_many(situation) or decision

    def _is_for_others(self, situation: Situation) -> bool:
        """True if a message that is no answer is between people.

        Whoever names the thread itself, as the terminal does, speaks to its team.
        """
        message, thread = self.message, situation.thread
        if message.only_answers:
            return True
        muted = thread is not None and thread.muted
        return muted and not (message.mentioned or message.thread or message.event not in SAID)

    def _only_verdict(self, known: Situation) -> Decision | None:
        """Decision on the only open approval, which need not be named."""
        answer = self.command.verdict if self.command is not None else None
        asked = [request for request in known.requests if request.kind == "approval"]
        if answer is None or len(asked) != 1:
            return None
        return decide_answer(self.message.author, asked[0], answer, self.operators, self.said_at)

    def _too_many(self, situation: Situation) -> MessageRefusal | None:
        """Refusal of one more waiting message, None if it may wait."""
        elsewhere, missed = situation.load.elsewhere, self.message.missed
        times = MISSED if missed else 1
        if situation.waiting >= self.waiting * times:
            reason, said = "too many wait", FULL.format(waiting=situation.waiting)
        elif elsewhere >= WAITING_THREADS * times:
            reason, said = "too many threads wait", SPREAD.format(threads=elsewhere)
        else:
            return None
        # Whoever wrote while nobody answered was not told, whatever they had been told before.
        told = self._was_refused_lately(situation) and not (missed or self._private)
        return MessageRefusal(reason=reason, reply="" if told else said)

    def _known_to_author(self, situation: Situation) -> Situation:
        """The situation with only the requests that the author may answer."""
        author, operators = self.message.author, self.operators
        mine = tuple(each for each in situation.requests if operators.may_answer(author, each))
        return replace(situation, requests=mine)

    def _decide_command(
        self, decision: Decision, situation: Situation, verdict: Admission
    ) -> Decision:
        """Decision on a command, as far as its author may use it."""
        operator = self._operator
        match decision:
            case ThreadDeletion() if situation.others and not operator:
                decision = CommandReply(reply=NOT_YOURS_ALONE)
            case ModeChange() if not (operator or verdict.may_set_mode):
                decision = CommandReply(reply=MODE_NOT_YOURS)
            case ApprovalChange(approval=name) if not (
                self.message.author.id == LOCAL_OPERATOR.id or (operator and name == ASK)
            ):
                decision = CommandReply(reply=APPROVAL_NOT_YOURS)
            case ModeChange():
                decision = replace(decision, quiet=self._quiet(decision.mode))
            case NewConversation(team=str() as word):
                current = situation.thread.team if situation.thread else next(iter(self.teams), "")
                decision = choose_team(word, self.teams, current)
            case ModelChange(model=word):
                team = situation.thread.team if situation.thread else self.team
                models = next((each for each in self.models if each.team == team), TeamModels())
                if verdict.models and not operator:
                    models = replace(models, named=verdict.models)
                allowed = operator or bool(verdict.models)
                decision = choose(word, situation.thread, models, allowed=allowed)
            case ThreadFork():
                full = verdict.limits and situation.load.begun >= verdict.limits.turns
                fork = FULL_OF_FORKS if full else self.fork  # maybe since it was planned
                known = isinstance(fork, ForkPlan)
                decision = replace(decision, plan=fork) if known else CommandReply(reply=fork)
            case QueueRemoval() | QueuePromotion() | GrantRevocation():
                decision = replace(decision, anybody=operator)
            case RepeatedTurn():
                entry = replace(self._entry(situation, verdict), anew="")
                decision = replace(decision, anybody=operator, enqueue=entry)
            case TurnRetry() | CommandedTurn():
                decision = replace(decision, limits=verdict.limits)
            case _:
                pass
        return decision

    def _entry(
        self, situation: Situation, verdict: Admission, notice: str = "", *, late: bool = False
    ) -> QueueEntry:
        """A queue entry in the thread's mode, or the route's if new."""
        mode = situation.thread.mode if situation.thread else verdict.mode
        return QueueEntry(
            notice=notice,
            limits=verdict.limits,
            mode=mode,
            quiet=self._quiet(mode),
            late=late,
            anew=self._anew(situation, verdict.reset),
            rule=verdict.rule,
        )

    def _anew(self, situation: Situation, reset: Reset) -> str:
        """The reason why the message begins a new thread, or ""."""
        thread = situation.thread
        if thread is None or not thread.current or thread.key.is_local:
            return ""
        if situation.status is not None or situation.waiting or situation.requests:
            return ""
        return why_anew(reset, thread.updated_at, self.message.at or self.now, self.zone)

    def _quiet(self, mode: str) -> float:
        return self.collect if mode == "collect" else 0.0

    def _decide_text(self, situation: Situation, verdict: Admission) -> Decision:
        author, text, operators = self.message.author, self.message.text, self.operators
        questions = [request for request in situation.requests if request.kind != "approval"]
        mine = [request for request in questions if operators.may_answer(author, request)]
        asked = situation.named
        if asked is None or asked.state != "open" or asked.kind == "approval":
            asked = mine[0] if len(mine) == 1 and len(questions) == 1 else None
        if asked is not None and text and operators.may_answer(author, asked):
            if is_over(asked, self.said_at):
                return self._entry(situation, verdict, TOO_LATE, late=True)
            return answer_in_words(asked, text)
        if any(request.kind == "approval" for request in situation.requests):
            return self._entry(situation, verdict, WAITS_FOR_APPROVAL)
        if questions:
            notice = WAITS_FOR_ANSWERS if mine else WAITS_FOR_OTHERS
            return self._entry(situation, verdict, notice)
        addressee = self._addressee(situation.thread)
        if addressee is not None and addressee.empty and not self._brings_something:
            return MessageRefusal(reason="no task", reply=NO_TASK.format(name=addressee.name))
        notice = ""
        if addressee is not None and _joins(situation):
            notice = JOINS.format(name=addressee.name)
        return self._entry(situation, verdict, notice)

    def _addressee(self, thread: Thread | None) -> Addressee | None:
        """The agent that the text names first, if known."""
        known = thread.participants if thread is not None else ()
        return addressee_of(self.message.text, known or self.participants)

    @property
    def _brings_something(self) -> bool:
        """True if there is more to the message than its text."""
        message = self.message
        return bool(message.attachments or message.awaited or message.quotes or message.missing)


def usual_rules(message: InboundMessage, access: Access, *, now: float) -> MessageRules:
    """The rules of a message where nothing but the access was configured."""
    verdict = access.judge(message)
    pairs = isinstance(verdict, Denial) and verdict.once_paired is not None
    return MessageRules(
        message=message,
        command=command_in(message),
        verdict=verdict,
        operators=access.operators,
        now=now,
        said_at=now,
        code=draw_code() if pairs else None,
    )


def _joins(situation: Situation) -> bool:
    """True if one more message joins the turn that runs."""
    thread = situation.thread
    return thread is not None and thread.mode == "steer" and situation.status == "running"


def _queues(decision: Decision) -> bool:
    """True if one more message would wait."""
    return isinstance(decision, QueueEntry | RepeatedTurn)
