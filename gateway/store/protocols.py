"""Interface of a store.

A store keeps its word at each of these calls: what it returned from is on disk, what it raised from
left nothing behind. Every write of a turn carries a `Lease` and is refused (`LeaseLost`) once the
thread was claimed anew or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from gateway.base.calendar import Scope
from gateway.conversation import (
    ConversationKey,
    InboundMessage,
    MessageAwaitingFiles,
    RecentMessage,
)
from gateway.events import SessionEvent
from gateway.outbox import Outbox
from gateway.store.decisions import AcceptedMessage, FileArrival, NewThread
from gateway.store.records import (
    AuditRow,
    Checkpoint,
    Counts,
    EncryptedToken,
    InboxKind,
    OldState,
    OpenMessage,
    PairedPerson,
    Request,
    Thread,
    UsageTotals,
)
from gateway.store.rulebook import (
    CodeCheck,
    FileRules,
    MissingFileWords,
    RecoveryWords,
    RequestRules,
    Rulebook,
)
from gateway.store.turn_records import (
    ClaimedTurn,
    ExpiryResult,
    JoinedMessages,
    Lease,
    RecoveredThread,
    StoredUpdate,
    Succession,
    TurnDelay,
    TurnUpdate,
)


class SessionReader(Protocol):
    """The reading half of a store, for others than the owner, too."""

    async def threads(self, *, search: str = "", limit: int = 50, offset: int = 0) -> list[Thread]:
        """Threads, the last used first; `search` looks into titles and texts."""
        ...

    async def thread(self, thread: str) -> Thread:
        """Raises NotFound."""
        ...

    async def thread_at(self, key: ConversationKey) -> Thread | None:
        """The conversation's current thread; None if it is unknown."""
        ...

    async def accepted_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken."""
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

    async def checkpoints(self, thread: str) -> list[Checkpoint]:
        """The newest snapshot and the deltas after it.

        None for a team that never ran.
        """
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

    async def audit(self, thread: str) -> list[AuditRow]:
        """Decisions about the thread's requests and grants, in order."""
        ...

    async def people(self) -> list[PairedPerson]:
        """People who were let in with a code, the first ones first."""
        ...

    async def counts(self) -> Counts:
        """Figures over all threads."""
        ...

    async def feedback(self, thread: str) -> Mapping[str, int]:
        """Numbers of ratings of the thread's answers, "good" or "bad"."""
        ...

    async def recent_messages(
        self, platform: str, workspace: str, since: float, *, threads: int = 20, each: int = 50
    ) -> list[RecentMessage]:
        """The newest messages of a workspace's threads.

        At most so many of `each` of the `threads` used last: since then, or with something that
        waits.
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

    def own(self) -> AbstractAsyncContextManager[None]:
        """Be its only owner. Raises StoreError."""
        ...

    async def create_thread(
        self, new: NewThread, *, key: ConversationKey, title: str = ""
    ) -> Thread:
        """Make a thread."""
        ...

    async def rename_thread(self, thread: str, title: str) -> list[SessionEvent]:
        """Raises NotFound."""
        ...

    async def delete_thread(self, thread: str) -> None:
        """Remove all its rows and its work folder, from the disk, too.

        Raises NotFound.
        """
        ...

    async def delete_person(self, person: str) -> list[str]:
        """Remove everything about a person, their threads included.

        The ids of these threads.
        """
        ...

    async def expire(self, before: float) -> list[str]:
        """Remove the idle threads that were last used before this time."""
        ...

    async def marks(self, platform: str) -> Mapping[str, str]:
        """The marks of a platform, by their names."""
        ...

    async def mark(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter; it replaces an earlier one.

        What is known `of` a conversation is deleted with its last thread, and not kept if it has
        none.
        """
        ...

    async def rate(self, thread: str, part: str, person: str, *, good: bool) -> None:
        """Keep a person's rating of a part of a thread's answer.

        It replaces an earlier one. Raises NotFound.
        """
        ...

    async def probe(self) -> None:
        """Nothing, as a write. Raises the GatewayError that a write would."""
        ...

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file.

        Raises StoreUnwritable or StoreFull.
        """
        ...

    async def accept(
        self,
        message: InboundMessage,
        rulebook: Rulebook,
        *,
        new: NewThread,
        kind: InboxKind,
        named: str = "",
        counted: bool = True,
        then: Callable[[AcceptedMessage], None],
    ) -> AcceptedMessage:
        """Take a message once, as the rulebook decides, in one transaction.

        `new` is the thread to make where it needs one, `named` the request it names; `counted` says
        that its author has limits, so that the situation holds what they keep busy. `then` is
        called with the result on the event loop even if the caller was cancelled meanwhile.
        """
        ...

    async def redeem(self, code: CodeCheck) -> PairedPerson | None:
        """Let in the person of a pairing code.

        None for a wrong, used or expired one.
        """
        ...

    async def unpair(self, person: str) -> bool:
        """Shut out again somebody who was let in.

        False if they were not let in.
        """
        ...

    async def withdraw(self, thread: str, inbox: int) -> tuple[str, list[SessionEvent]] | None:
        """Withdraw a waiting message: its text and the events it adds."""
        ...

    async def bring(
        self, inbox: int, files: FileRules, then: Callable[[FileArrival | None], None]
    ) -> None:
        """Give a message its files, those that its thread may have.

        `then` is called with the result: None if the message waits for none, or does not wait any
        more.
        """
        ...

    async def recover(self, boot: str, words: RecoveryWords) -> list[RecoveredThread]:
        """Judge what earlier boots left behind; call once, before anything is run."""
        ...

    async def begin(
        self, thread: str, boot: str, *, words: MissingFileWords, quiet: float = 0.0
    ) -> ClaimedTurn | TurnDelay | None:
        """Claim the thread and its next turn.

        It is one that goes on, or that of the first waiting message, once nobody has written for
        `quiet` seconds where the thread collects.
        """
        ...

    async def join(self, lease: Lease) -> JoinedMessages:
        """Take waiting messages into the turn, if the thread's mode says so.

        Raises LeaseLost.
        """
        ...

    async def settle_due(
        self, rules: RequestRules, by: float, *, jumped: float = 0.0
    ) -> ExpiryResult:
        """Let overdue requests expire, and remind of others, by the rules.

        `by` is the time of day as if no clock had been set since this boot, and `jumped` by how
        many seconds it was: the next boot's `recover` reckons with that.
        """
        ...

    async def succeed(self, lease: Lease, succession: Succession) -> tuple[SessionEvent, ...]:
        """Note the team that goes on in the thread; its events.

        Raises LeaseLost.
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
