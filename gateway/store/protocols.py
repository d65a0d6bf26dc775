"""Interface of a store.

A store keeps its word at each of these calls: what it returned from is on disk, what it raised from
left nothing behind. Every write of a turn carries a `Lease` and is refused (`LeaseLost`) once the
thread was claimed anew or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from gateway.base.calendar import Scope
from gateway.base.clock import KnownTime
from gateway.conversation import (
    LOCAL_OPERATOR,
    Author,
    ConversationKey,
    MessageAwaitingFiles,
    RecentMessage,
)
from gateway.events import Notice, SessionEvent
from gateway.missed import Gap, KnownPlace, MissedCounts, OpenGap, ReadPage
from gateway.outbox import Outbox
from gateway.rates import DrawnTokens, RateLimit
from gateway.store.decisions import AcceptedMessage, FileArrival, NewThread
from gateway.store.jobs import FoundWork, JobSearch, LaneJob
from gateway.store.nodes import Healed, Node, NodeRow
from gateway.store.records import (
    AuditRow,
    Checkpoint,
    Counts,
    EncryptedToken,
    KnownTool,
    Memo,
    MemoPlace,
    MetTool,
    OldState,
    OpenMessage,
    PairedPerson,
    PoolFigures,
    Request,
    StoreLoss,
    Thread,
    UsageTotals,
)
from gateway.store.rulebook import (
    CodeCheck,
    FileRules,
    JudgedMessage,
    MissingFileWords,
    RecoveryWords,
    RequestDating,
    RequestRules,
)
from gateway.store.shares import BudgetShare, ShareQuery
from gateway.store.turn_records import (
    ClaimedTurn,
    ExpiredThreads,
    ExpiryResult,
    Hold,
    JoinedMessages,
    LaneElsewhere,
    Lease,
    RecoveredThread,
    RetentionPause,
    SettledRequests,
    StoredUpdate,
    Succession,
    ThreadContext,
    TurnDelay,
    TurnUpdate,
)
from gateway.values import Origin


class SessionReader(Protocol):
    """The reading half of a store, for others than the owner, too."""

    async def threads(
        self, *, search: str = "", platform: str = "", limit: int = 50, offset: int = 0
    ) -> list[Thread]:
        """Threads, the last used first, each with what it waits for.

        `search` looks for parts of words in titles and texts; each of them is in the thread.
        """
        ...

    async def thread(self, thread: str) -> Thread:
        """Raises NotFound."""
        ...

    async def newest_thread(self, origin: Origin, teams: Collection[str]) -> Thread | None:
        """The config's last thread in the terminal with such a team.

        By its path, or where no thread has that by its text.
        """
        ...

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The conversation's current thread; None if it is unknown."""
        ...

    async def last_command(self, thread: str, order_key: str, commands: Collection[str]) -> str:
        """The last of these commands before a place, or ""."""
        ...

    async def accepted_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken, or deleted."""
        ...

    async def forgotten(self, key: ConversationKey) -> str:
        """The order key up to which a conversation was deleted, or ""."""
        ...

    async def events(self, thread: str, *, after: int = 0, limit: int = 500) -> list[SessionEvent]:
        """The first `limit` events after a seq."""
        ...

    async def open_messages(self, thread: str) -> tuple[OpenMessage, ...]:
        """The text shown so far of unfinished messages."""
        ...

    async def request(self, request: str) -> Request:
        """Raises NotFound."""
        ...

    async def known_tool(self, server: str, tool: str) -> KnownTool | None:
        """A server's tool, None if it was never met."""
        ...

    async def known_tools(self) -> list[KnownTool]:
        """All tools of servers that were met."""
        ...

    async def context(self, thread: str) -> ThreadContext:
        """Origins of what the thread's team has read."""
        ...

    async def checkpoints(self, thread: str) -> list[Checkpoint]:
        """The newest snapshot and the deltas after it, if any."""
        ...

    async def outdated(self, definitions: Mapping[str, str]) -> list[Thread]:
        """The threads whose team has another definition than here, or none."""
        ...

    async def old_states(self, thread: str) -> list[OldState]:
        """Memories of the teams that were replaced in this thread, oldest first."""
        ...

    async def threads_of(self, person: str) -> list[Thread]:
        """The threads in which this person has written, asked or answered."""
        ...

    async def whole_audit(
        self, *, after: int, since: float, until: float, limit: int, longest: int
    ) -> list[AuditRow]:
        """The first rows of all threads after a position, of these times.

        `longest`: characters of arguments.
        """
        ...

    async def audit(self, thread: str) -> list[AuditRow]:
        """Decisions about the thread's requests and grants, in order."""
        ...

    async def people(self) -> list[PairedPerson]:
        """People who were let in with a code, the first ones first."""
        ...

    async def losses(self) -> list[StoreLoss]:
        """Times of which the store knows nothing, oldest first.

        Parley worked then. What people wrote in one may have been answered, so nobody answers
        it unasked.
        """
        ...

    async def untold_loss(self) -> StoreLoss | None:
        """The widest loss that the threads do not know of yet."""
        ...

    async def counts(self) -> Counts:
        """Figures over all threads."""
        ...

    async def known_time(self, now: float) -> KnownTime | None:
        """The last known time of day, None in an empty store.

        In one of an earlier version that is the newest thread's, or `now`.
        """
        ...

    async def unindexed(self) -> bool:
        """True if there are texts whose words are not in the index."""
        ...

    async def retention_pause(self) -> RetentionPause | None:
        """The pause of retention; None if the last round has left nothing."""
        ...

    async def missed_counts(self) -> MissedCounts:
        """The rest of the work list, and the messages found."""
        ...

    async def feedback(self, thread: str) -> Mapping[str, int]:
        """Numbers of ratings of the thread's answers, "good" or "bad"."""
        ...

    async def memos(self, place: MemoPlace) -> list[Memo]:
        """Memos of a place, the oldest first."""
        ...

    async def recent_messages(
        self, platform: str, workspace: str, since: float, *, threads: int = 20, each: int = 50
    ) -> list[RecentMessage]:
        """The newest messages of a workspace's threads.

        At most so many of `each` of the `threads` used last: since then, or with something that
        waits.
        """
        ...

    async def open_gaps(
        self, platform: str, workspace: str, *, threads: bool, limit: int
    ) -> list[OpenGap]:
        """The gaps to read next, of a workspace's threads or channels."""
        ...

    async def known_channels(self, platform: str, workspace: str) -> list[KnownPlace]:
        """The channels of a workspace in which there are threads.

        `used` is 0 for those that are not among those used last.
        """
        ...

    async def known_threads(
        self, place: ConversationKey, *, before: str, limit: int
    ) -> list[KnownPlace]:
        """Threads of a channel with roots below `before`, the greatest first.

        All of them if that is "".
        """
        ...

    async def awaiting(self, platform: str) -> list[MessageAwaitingFiles]:
        """The messages from a platform that wait for their files."""
        ...

    async def spent(self, scope: Scope | None, name: str, since: float) -> UsageTotals:
        """Usage since then, in the scope of this name or of everybody."""
        ...


class TokenRows(Protocol):
    """The part of a store that keeps platforms' tokens, encrypted."""

    async def tokens(self) -> list[EncryptedToken]:
        """All tokens, by their names."""
        ...

    async def put_tokens(self, tokens: Collection[EncryptedToken]) -> None:
        """Keep these tokens, all or none; they replace earlier ones."""
        ...

    async def delete_token(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        ...


class SessionStore(SessionReader, Outbox, Protocol):
    """A store that its owner writes."""

    @property
    def folder(self) -> Path:
        """Where the control socket lives."""
        ...

    def watch_commits(self, observe: Callable[[float], None]) -> None:
        """Call `observe`, in any thread, with the seconds of each transaction."""
        ...

    def own(
        self, node: Node | None = None, *, alone: bool = False
    ) -> AbstractAsyncContextManager[None]:
        """Be its owner, or one of its nodes. Raises StoreError.

        `alone`: nobody else may be one.
        """
        ...

    async def create_thread(
        self, new: NewThread, *, key: ConversationKey, title: str = ""
    ) -> Thread:
        """Make a thread."""
        ...

    async def rename_thread(self, thread: str, title: str) -> list[SessionEvent]:
        """Raises NotFound."""
        ...

    async def adopt_thread(self, thread: str, origin: Origin) -> Thread:
        """Let a thread belong to another config. Raises NotFound."""
        ...

    async def delete_thread(self, thread: str) -> None:
        """Remove all its rows and its work folder, from the disk, too.

        Raises NotFound.
        """
        ...

    async def delete_person(self, person: str) -> list[str]:
        """Remove everything about a person; the ids of the threads removed."""
        ...

    async def expire(
        self, before: float, *, share: float = 1.0, next_at: float = 0.0
    ) -> ExpiredThreads:
        """Remove idle threads last used before this time, the oldest first.

        At most this share of all threads is removed, or a few where there are few. If some are
        left, the same commit begins a pause until `next_at`.
        """
        ...

    async def note(self, what: str, **columns: str | int) -> None:
        """Add to the audit what the operator did, beyond the store."""
        ...

    async def drop_audit(self, before: float) -> None:
        """Drop some rows of the audit from before this time."""
        ...

    async def keep_time(self, known: KnownTime) -> None:
        """Keep the time of day for the next process."""
        ...

    async def index_words(self) -> bool:
        """Index the words of some texts; True if more are left."""
        ...

    async def draw_tokens(self, limit: RateLimit, most: int, reserve: float = 0.0) -> DrawnTokens:
        """Draw up to `most` tokens, and leave `reserve` in the bucket."""
        ...

    async def close_rate(self, limit: RateLimit, seconds: float) -> None:
        """Leave nothing to draw for so long, and one token then."""
        ...

    async def draw_shares(self, boot: str, queries: Sequence[ShareQuery]) -> list[BudgetShare]:
        """Grant a node its wishes, in all these budgets or in none."""
        ...

    async def marks(self, platform: str, name: str = "") -> Mapping[str, str]:
        """The marks of a platform, by their names, or that of `name`."""
        ...

    async def mark(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter; it replaces an earlier one.

        What is known `of` a conversation is deleted with its last thread, and not kept if it has
        none.
        """
        ...

    async def add_gaps(self, platform: str, gaps: Sequence[Gap], marks: Mapping[str, str]) -> None:
        """Add gaps to the work list and set the platform's marks."""
        ...

    async def finish_page(self, page: ReadPage) -> None:
        """Go on behind a page that was read, or close its gap.

        Does nothing for a gap that is gone.
        """
        ...

    async def rate(self, thread: str, part: str, person: str, *, good: bool) -> None:
        """Keep a person's rating of a part of a thread's answer.

        It replaces an earlier one. Raises NotFound.
        """
        ...

    async def probe(self) -> None:
        """Write something. Raises what the last write of some kind met.

        After a refusal it takes new room: what is written in place still fits a full disk.
        """
        ...

    async def accept(
        self, message: JudgedMessage, then: Callable[[AcceptedMessage], None]
    ) -> AcceptedMessage:
        """Take a message once, as its rulebook decides, in one transaction.

        `then` is called with the result on the event loop even if the caller was cancelled
        meanwhile.
        """
        ...

    async def accept_all(
        self,
        messages: Sequence[JudgedMessage],
        then: Callable[[Sequence[AcceptedMessage]], None],
    ) -> Sequence[AcceptedMessage]:
        """Take messages in one transaction, each as `accept` does."""
        ...

    async def redeem(self, code: CodeCheck, *, by: float | None = None) -> PairedPerson | None:
        """Let in the person of a code that is good by then.

        None for a wrong, used or expired one.
        """
        ...

    async def unpair(self, person: str) -> bool:
        """Shut out again somebody who was let in.

        False if they were not let in.
        """
        ...

    async def withdraw(self, thread: str, inbox: int) -> tuple[str, list[SessionEvent]] | None:
        """Withdraw a waiting message; its text and the events this adds.

        None if no such message waits.
        """
        ...

    async def bring(
        self, inbox: int, files: FileRules, then: Callable[[FileArrival | None], None]
    ) -> None:
        """Give a message its files, those that its thread may have.

        `then` is called with the result: None if the message waits for none, or does not wait any
        more.
        """
        ...

    async def recover(
        self, boot: str, words: RecoveryWords, asked: RequestDating | None = None
    ) -> list[RecoveredThread]:
        """Judge what earlier boots left behind; call once, before anything is run.

        `asked` is for open requests, where the time of day alone does not say it.
        """
        ...

    async def begin(
        self,
        thread: str,
        boot: str,
        *,
        words: MissingFileWords,
        quiet: float = 0.0,
        only: Origin | None = None,
    ) -> ClaimedTurn | TurnDelay | LaneElsewhere | None:
        """Claim the thread and its next turn, unless another node holds it.

        It is one that goes on, or that of the first waiting message, once nobody has written for
        `quiet` seconds where the thread collects. With `only`, a thread of the terminal's that
        belongs to another config stays as it is, unless its turn is to be stopped.
        """
        ...

    async def join(self, lease: Lease) -> JoinedMessages:
        """Take waiting messages into the turn, if the thread's mode says so.

        Raises LeaseLost.
        """
        ...

    async def end_unbegun(self, thread: str, boot: str, notice: Notice) -> StoredUpdate:
        """End a thread's next work, which can't be begun, with a notice.

        Its open turn fails; without one, the message that waits first is refused. Raises LeaseLost
        for a deleted thread.
        """
        ...

    async def add_notice(self, thread: str, notice: Notice) -> tuple[SessionEvent, ...]:
        """Add a notice of no turn's; the event.

        Raises LeaseLost for a deleted thread.
        """
        ...

    async def tell_hold(self, thread: str, hold: Hold) -> tuple[SessionEvent, ...]:
        """Tell the thread that its next turn is held; nothing twice."""
        ...

    async def add_memo(
        self, lease: Lease, place: MemoPlace, author: Author, text: str, *, call: str, most: int
    ) -> int:
        """Add a call's memo; 0 if there are `most`. Raises LeaseLost."""
        ...

    async def delete_memo(self, lease: Lease, place: MemoPlace, person: str, memo: int) -> bool:
        """Delete the person's memo from a place; False if none. Raises LeaseLost."""
        ...

    async def settle_due(self, rules: RequestRules, by: float) -> ExpiryResult:
        """Let overdue requests expire, and remind of others, by the rules.

        `by` is the time of day as if no clock had been set since this boot.
        """
        ...

    async def meet_tool(self, met: MetTool) -> SettledRequests:
        """Keep a tool as it was met.

        If it was another before, its approvals for threads end, and open ones are closed.
        """
        ...

    async def accept_tool(self, met: MetTool, person: str = LOCAL_OPERATOR.id) -> bool:
        """Accept a tool's text; False if it is accepted already."""
        ...

    async def forget_tool(self, server: str, tool: str) -> None:
        """Forget a tool whose server may change its texts as it likes."""
        ...

    async def succeed(self, lease: Lease, succession: Succession) -> tuple[SessionEvent, ...]:
        """Note the team that goes on in the thread; its events.

        Raises LeaseLost.
        """
        ...

    async def close_unshown(self, thread: str, request: str = "") -> tuple[SessionEvent, ...]:
        """Close requests within calls that can't be shown: one, or all.

        Returns the events this adds.
        """
        ...

    async def withdraw_questions(
        self, threads: Collection[str], *, reason: str, notice: str
    ) -> Mapping[str, tuple[SessionEvent, ...]]:
        """End these threads' turns that wait for answers; the events of each."""
        ...

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        """Add to a turn. Raises LeaseLost."""
        ...

    def loaded_at(self, thread: str) -> int:
        """Nanoseconds until which the folder has files of the store alone.

        To be asked after `work_folder`; 0 where the folder is not a copy.
        """
        ...


@runtime_checkable
class SupportsBackup(Protocol):
    """A store that can be copied to a file."""

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        Raises StoreUnwritable or StoreFull.
        """
        ...


@runtime_checkable
class SupportsPool(Protocol):
    """A store with connections to a database."""

    def pool(self) -> PoolFigures:
        """The connections of its owner."""
        ...


@runtime_checkable
class SupportsNodes(Protocol):
    """A store that several nodes share."""

    @property
    def speaks(self) -> bool:
        """True while no other node can have declared this one dead."""
        ...

    @property
    def is_steady(self) -> bool:
        """True unless this node was held up itself.

        Then it might take others for dead that were, too.
        """
        ...

    @property
    def node_count(self) -> int:
        """Number of nodes a moment ago."""
        ...

    def tell_figures(self, figures: Callable[[], dict[str, Any]]) -> None:
        """Ask for this node's load with each beat, in another thread."""
        ...

    async def until_lost(self) -> None:
        """Wait as long as this node is one. Raises StoreTaken then."""
        ...

    async def until_outdated(self) -> None:
        """Wait until a newer version of Parley has changed the store."""
        ...

    async def nodes(self) -> list[NodeRow]:
        """The nodes, the oldest first."""
        ...

    async def hold(self, name: str, boot: str) -> bool:
        """Take a lease, unless another node that lives has it.

        A node that drains takes none.
        """
        ...

    async def release(self, name: str, boot: str) -> None:
        """Give a lease back."""
        ...

    async def running_elsewhere(self, boot: str) -> frozenset[str]:
        """Threads whose turns run on other nodes."""
        ...

    async def take(self, search: JobSearch) -> FoundWork | None:
        """Take a thread that waits for a node; None if none does.

        It has no turn where more may be looked at.
        """
        ...

    async def next_job(self, queues: Sequence[str]) -> float | None:
        """Seconds until a thread of these queues may run; None without one."""
        ...

    async def due_threads(self, queues: Sequence[str]) -> Sequence[str]:
        """Some threads that have waited, and were not told so."""
        ...

    async def defer(self, job: LaneJob) -> None:
        """Let a node run the thread."""
        ...

    async def dead_nodes(self, boot: str) -> list[str]:
        """Nodes without a sign of life, or gone from their turns.

        Their sessions are ended with the next beat.
        """
        ...

    async def bury(self, dead: Sequence[str], words: RecoveryWords) -> list[str]:
        """Declare nodes dead, and put their work back; their names."""
        ...

    async def heal(
        self, boot: str, platforms: Sequence[str], *, full: bool, all_work: bool
    ) -> Healed:
        """Adopt free lanes, and leave others what this can't run.

        `full`: it has no room. With `all_work`, unless another node does, it looks for work without
        a job.
        """
        ...

    async def drain(self, boot: str) -> None:
        """Take nothing more, and give leases and lanes back."""
        ...

    async def leave(self, boot: str) -> None:
        """Let go of what a drained node still has."""
        ...

    async def signal(self, text: str) -> None:
        """Tell all nodes, outside of any transaction; it may be lost."""
        ...

    async def listen(self, told: Callable[[str], None]) -> None:
        """Call `told` with each signal, and "" for new jobs, until cancelled.

        Whenever the connection was made anew, it is called with "", too.
        """
        ...
