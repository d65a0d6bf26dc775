"""An AdapterHost without a store, a team or a surface.

It decides by the gateway's own rules, and keeps in memory what it was given.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

from pydantic import SecretStr

from gateway.access.authority import Access, judge
from gateway.adapter import DeadEndOutcome, IgnoredReason, Tokens
from gateway.client import CommandInfo, Receipt
from gateway.content.attachments import with_allowed_awaited
from gateway.conversation import (
    Attachment,
    ConversationKey,
    HistoryLimit,
    InboundMessage,
    MessageAwaitingFiles,
    MissingFile,
    RecentMessage,
)
from gateway.errors import GatewayError, NotFound
from gateway.history import Backfill, OfferCard, Pauses, PlatformHistory, Redelivery, Said
from gateway.inbound.commands import command_infos, parse_command
from gateway.inbound.policy import MessageRules, command_in
from gateway.interactions import FormOpening, FormSpec
from gateway.missed import Gap, KnownPlace, MissedRules, OpenGap
from gateway.rates import DrawnTokens, RateLimit, SharedRate
from gateway.runtime.settings import Limits
from gateway.store.decisions import (
    CommandReply,
    Decision,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    NoAction,
    QueueEntry,
)
from gateway.store.records import Situation, Thread
from gateway.surface import TextSurface

NO_REQUESTS = "This host has no requests."
TEAM = "demo"
IGNORED = Receipt(inbox=0, thread="", outcome="refused")
"""The receipt of a message of which nothing is stored."""


@dataclass
class Taken:
    """A message as it was handed in, its receipt and files."""

    message: InboundMessage
    receipt: Receipt
    files: list[Attachment] = field(default_factory=list[Attachment])
    missing: list[MissingFile] = field(default_factory=list[MissingFile])
    brought: bool = False
    """Its files, if it awaits some, were brought."""

    @property
    def given(self) -> str:
        """All of it that the team is given: words, quotes, files."""
        message = self.message
        missing = (*message.missing, *self.missing)
        return "\n".join(
            (
                message.text,
                *(each.text for each in message.quotes),
                *(f"{each.name}: {each.data.decode('latin-1')}" for each in self.files),
                *(f"{each.name} is missing: {each.why}" for each in missing),
            )
        )


class FakeConversations:
    """Threads of conversations that somebody has begun."""

    def __init__(self) -> None:
        self.threads: dict[str, Thread] = {}
        self.ratings: list[tuple[str, str, str, bool]] = []
        """Thread, part, person and praise of each rating."""

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The conversation's thread; None if it is unknown."""
        return self.threads.get(str(key))

    async def history_limit(self, key: ConversationKey) -> HistoryLimit:
        """No limit: nothing was deleted."""
        return HistoryLimit()

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        self._change(thread, lambda found: replace(found, title=title))

    async def rate(
        self, thread: str, part: str, person: str, *, good: bool, reason: str = ""
    ) -> None:
        """Note a rating. Raises NotFound."""
        self._change(thread, lambda found: found)
        self.ratings.append((thread, part, person, good))

    def begin(self, key: ConversationKey, title: str = "") -> Thread:
        """The conversation's thread, begun if there is none."""
        name, number = str(key), len(self.threads) + 1
        new = Thread(id=f"t{number}", title=title, team=TEAM, state="idle", updated_at=0, key=key)
        return self.threads.setdefault(name, new)

    def wait(self, key: ConversationKey) -> None:
        """Let the conversation's team wait for an answer."""
        self._change(self.begin(key).id, lambda found: replace(found, state="waiting"))

    def _change(self, thread: str, change: Callable[[Thread], Thread]) -> None:
        for name, found in self.threads.items():
            if found.id == thread:
                self.threads[name] = change(found)
                return
        raise NotFound(f"There is no thread {thread!r}.")


class FakeMarks:
    """Marks in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def read(self, platform: str, name: str = "") -> Mapping[str, str]:
        """The marks of a platform, by their names, or that of `name`."""
        return {
            mark: value
            for (of, mark), value in self.kept.items()
            if of == platform and name in ("", mark)
        }

    async def keep(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text; it replaces an earlier one."""
        self.kept[platform, name] = value


class FakeFiles:
    """Messages that await their files."""

    def __init__(self, taken: list[Taken]) -> None:
        self._taken = taken

    async def awaited_files(self, platform: str) -> list[MessageAwaitingFiles]:
        """The messages from a platform that wait for their files."""
        return [
            MessageAwaitingFiles(
                inbox=each.receipt.inbox, key=each.message.key, files=each.message.awaited
            )
            for each in self._taken
            if each.message.key.platform == platform and self._waits(each)
        ]

    async def bring_files(
        self, inbox: int, files: Sequence[Attachment], missing: Sequence[MissingFile]
    ) -> None:
        """Give a message its files, once."""
        for each in self._taken:
            if each.receipt.inbox == inbox and self._waits(each):
                each.files, each.missing, each.brought = [*files], [*missing], True

    def _waits(self, each: Taken) -> bool:
        queued = each.receipt.outcome in ("turn", "queued") and each.message.event != "edit"
        return queued and bool(each.message.awaited) and not each.brought


class FakeLeases:
    """Leases of the only node."""

    async def hold(self, lease: str) -> bool:
        """True: nobody else wants it."""
        return True

    async def release(self, lease: str) -> None:
        """Leave it to nobody."""

    def check_speaking(self) -> None:
        """It always may."""


class FakeHealth:
    """Figures and remarks in memory."""

    def __init__(self) -> None:
        self.ignored: Counter[IgnoredReason] = Counter()
        self.dead_ends: Counter[DeadEndOutcome] = Counter()
        self.remarks: list[str] = []
        self.is_open: dict[str, bool] = {}

    def heartbeat(self, adapter: str) -> None:
        """Need not be noted."""

    async def node_count(self, adapter: str) -> int:
        """One node."""
        return 1

    def note_strangers(self, adapter: str, found: int) -> None:
        """Need not be noted."""

    def connection(self, adapter: str, *, is_open: bool) -> None:
        """Note a connection."""
        self.is_open[adapter] = is_open

    def compare_time(self, adapter: str, told: float) -> None:
        """Need not be noted."""

    def count_ignored(self, reason: IgnoredReason) -> None:
        """Count an event that the adapter drops."""
        self.ignored[reason] += 1

    def count_dead_end(self, outcome: DeadEndOutcome) -> None:
        """Count somebody who can't be answered."""
        self.dead_ends[outcome] += 1

    def remark(self, adapter: str, text: str) -> None:
        """Keep a remark."""
        self.remarks.append(text)

    async def probe(self) -> None:
        """It can always be written."""


class FakeTokens:
    """Tokens in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, SecretStr] = {}

    async def get(self, name: str) -> SecretStr | None:
        """The token, None if there is none."""
        return self._kept.get(name)

    async def put(self, name: str, token: SecretStr) -> None:
        """Keep a token."""
        self._kept[name] = token

    async def delete(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        return self._kept.pop(name, None) is not None

    async def names(self) -> list[str]:
        """The names of all tokens."""
        return sorted(self._kept)


class LoneRate:
    """A rate that no other node keeps."""

    is_shared = False

    def draw(self, most: int, *, reserve: float = 0.0) -> asyncio.Future[DrawnTokens]:
        """All that is asked for."""
        drawn = asyncio.get_running_loop().create_future()
        drawn.set_result(DrawnTokens(tokens=most, wait=0.0, level=float(most)))
        return drawn

    def close(self, seconds: float) -> None:
        """Nobody else draws."""


class FakePauses:
    """Pauses that are noted, and lead to nothing."""

    looks = True

    def __init__(self) -> None:
        self.lost: list[tuple[ConversationKey, float]] = []
        self.left_out: list[tuple[float, float]] = []

    async def run(self, is_open: Callable[[], bool]) -> None:
        """Wait for the end."""
        await asyncio.Event().wait()

    def connected(self) -> None:
        """Need not be noted."""

    def cut(self) -> None:
        """Need not be noted."""

    def failed(self, at: float | None = None) -> None:
        """Need not be noted."""

    async def note_lost(self, place: ConversationKey, at: float) -> None:
        """Note a place."""
        self.lost.append((place, at))

    async def leave_out(self, since: float, until: float) -> None:
        """Note a time."""
        self.left_out.append((since, until))


class FakeBackfill:
    """A work list on which nothing is read."""

    def __init__(self, account: str, rules: MissedRules) -> None:
        self.account = account
        self.rules = rules
        self.gaps: list[Gap] = []
        self.clicked: list[tuple[OfferCard, InboundMessage]] = []
        self._pauses = FakePauses()

    def pauses(self, redelivery: Redelivery) -> Pauses:
        """The pauses."""
        return self._pauses

    async def run(self) -> None:
        """Wait for the end."""
        await asyncio.Event().wait()

    async def note(self, gaps: Sequence[Gap], marks: Mapping[str, str] | None = None) -> None:
        """Note gaps."""
        self.gaps += gaps

    async def unread(self, *, limit: int) -> list[OpenGap]:
        """Nothing."""
        return []

    async def known_channels(self, workspace: str) -> list[KnownPlace]:
        """Nothing."""
        return []

    async def known_threads(
        self, place: ConversationKey, *, before: str, limit: int
    ) -> list[KnownPlace]:
        """Nothing."""
        return []

    async def recent_messages(self, workspace: str, since: float) -> list[RecentMessage]:
        """Nothing."""
        return []

    async def answer(self, card: OfferCard, clicked: InboundMessage) -> str:
        """Note a click."""
        self.clicked.append((card, clicked))
        return ""


class FakeHost:
    """A gateway as adapters see it, which remembers what it was given.

    `access` says who may write; `taken` has everything that was handed in, each once, also what
    was refused. Nobody answers, but commands have their replies.
    """

    def __init__(self, access: Access | None = None, *, limits: Limits | None = None) -> None:
        self.policy = access or Access()
        self.limits = limits or Limits()
        self.taken: list[Taken] = []
        self.conversations = FakeConversations()
        self.marks = FakeMarks()
        self.files = FakeFiles(self.taken)
        self.leases = FakeLeases()
        self.health = FakeHealth()
        self.tokens: Tokens = FakeTokens()
        self.surfaces: list[TextSurface] = []
        self._receipts: dict[str, Receipt] = {}
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def _noted(self, surface: TextSurface) -> AsyncGenerator[None]:
        self.surfaces.append(surface)
        yield

    def delivering(self, surface: TextSurface) -> AbstractAsyncContextManager[None]:
        """Note the surface, and write nothing."""
        return self._noted(surface)

    def commands(self) -> list[CommandInfo]:
        """The gateway's commands."""
        return command_infos()

    def is_command(self, text: str) -> bool:
        """True if a message with this text is a command."""
        return parse_command(text) is not None

    async def judge(self, message: InboundMessage) -> InboundMessage:
        """The message with the ruling of the access."""
        return replace(message, ruling=judge(message, self.policy))

    async def open_form(self, message: InboundMessage, opening: FormOpening) -> FormSpec | str:
        """No form."""
        return NO_REQUESTS

    async def known_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these keys that were taken."""
        return frozenset(self._receipts.keys() & set(keys))

    def shared_rate(self, limit: RateLimit) -> SharedRate:
        """A rate of this node alone."""
        return LoneRate()

    def backfill(self, history: PlatformHistory[Said]) -> Backfill:
        """A work list on which nothing is read."""
        return FakeBackfill(history.account, self.limits.missed)

    async def accept(self, message: InboundMessage) -> Receipt:
        """Decide by the gateway's rules; keep the message."""
        if message.team not in ("", TEAM):
            raise NotFound(f"There is no team {message.team!r}.")
        known = next((key for key in message.dedupe if key in self._receipts), None)
        receipt = self._receipts[known] if known else self._decide(message)
        if receipt.inbox:
            self._receipts |= dict.fromkeys(message.dedupe, receipt)
        return receipt

    def _decide(self, message: InboundMessage) -> Receipt:
        thread = self.conversations.threads.get(str(message.key))
        if message.awaited and message.event != "edit":
            message = with_allowed_awaited(message, self.limits.attachments)
        receipt = self._carried_out(message, self._decision(message, thread), thread)
        self.taken.append(Taken(message, receipt))
        return receipt

    def _decision(self, message: InboundMessage, thread: Thread | None) -> Decision:
        now = time.time()
        rules = MessageRules(
            message=message,
            command=command_in(message),
            verdict=judge(message, self.policy).verdict,
            operators=self.policy.operators,
            now=now,
            said_at=now,
            team=TEAM,
            files=self.limits.attachments,
        )
        told = now if self._was_refused(message) else None
        return rules.decide(
            Situation(
                thread=thread, status=None, waiting=0, asker="", requests=(), named=None, told=told
            )
        )

    def _was_refused(self, message: InboundMessage) -> bool:
        return any(
            each.receipt.outcome == "refused"
            and each.receipt.inbox
            and each.message.key == message.key
            and each.message.author.id == message.author.id
            for each in self.taken
        )

    def _carried_out(
        self, message: InboundMessage, decision: Decision, thread: Thread | None
    ) -> Receipt:
        number, id = next(self._numbers), thread.id if thread else ""
        match decision:
            case QueueEntry():
                id = self.conversations.begin(message.key, message.title or message.text).id
                return Receipt(inbox=number, thread=id, outcome="turn")
            case MessageRefusal(reply=reply):
                return Receipt(inbox=number, thread=id, outcome="refused", reply=reply)
            case CommandReply(reply=reply):
                return Receipt(inbox=number, thread=id, outcome="command", reply=reply)
            case MessageEdit() | MessageWithdrawal() if self._is_known(message):
                return Receipt(inbox=number, thread=id, outcome="merged")
            case MessageEdit() | MessageWithdrawal():
                return IGNORED
            case NoAction():
                self.health.count_ignored("not addressed")
                return IGNORED
            case _:
                raise GatewayError(f"this host can't carry out {type(decision).__name__}")

    def _is_known(self, change: InboundMessage) -> bool:
        """True if the message of an edit or a deletion was taken."""
        return any(
            each.message.message_id == change.message_id and each.message.key == change.key
            for each in self.turns
        )

    # --- for tests ---

    @property
    def messages(self) -> list[InboundMessage]:
        """All that was taken."""
        return [each.message for each in self.taken]

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of all that was taken."""
        return [each.receipt.outcome for each in self.taken]

    @property
    def turns(self) -> list[Taken]:
        """Messages that begin a turn."""
        return [each for each in self.taken if each.receipt.outcome == "turn"]
