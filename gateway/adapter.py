"""The contract between the gateway and the module of a chat platform.

`[adapters.NAME]` is the module `adapters.NAME`, or the one that an installed distribution names so
in its entry points, group `parley.adapters`. It exports `Config`, the type of its table, and
`build(config)`, which makes its Adapter without touching the network. Reading it must be cheap: it
loads its platform's SDK in `build` at the earliest. It may have

- `check(config, routes)`, which `parley check` asks (see SettingsCheck),
- `people_named(config, names)`, which it asks whose names agents have (see NameSearch),
- `simulate(port)`, an async context manager that yields a Simulation, for `parley simulate NAME`,
- `commands`, a click group that is `parley NAME`. Each of its commands takes `--config`, and has
  as its context's `obj` a SettingsReader of that config.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from gateway.client import CommandInfo, Receipt, ThreadInfo
from gateway.conversation import (
    Attachment,
    Author,
    ConversationKey,
    HistoryLimit,
    InboundMessage,
    MessageAwaitingFiles,
    MissingFile,
)
from gateway.errors import GatewayError
from gateway.faces import Face
from gateway.history import Backfill, PlatformHistory, Said
from gateway.interactions import FormOpening, FormSpec
from gateway.missed import MissedRules
from gateway.rates import RateLimit, SharedRate
from gateway.surface import TextSurface
from gateway.values import Offers, value

if TYPE_CHECKING:
    from pydantic import SecretStr

    from gateway.config.routes import Route

IgnoredReason: TypeAlias = Literal[
    "not addressed",
    "own",
    "no author",
    "system message",
    "no change",
    "reaction",
    "already taken",
    "another app",
    "unknown kind",
    "malformed",
    "not served",
]
"""Why an adapter drops an event.

It is said to others; it is the bot's own, or nobody's; the platform has written it; nothing that
the team knows has changed; the reaction calls nobody; it was taken before; it is about a button, a
form or a command of another app; adapters know no such event; it can't be read; the bot is not in
its workspace.
"""

DeadEndOutcome: TypeAlias = Literal["told", "untold"]

NOT_ALLOWED = "You may not write to this team."
"""The reply to somebody who may not write there."""
TELL_AGAIN = 3600.0
"""Seconds for which somebody who was refused is not told so again in the same thread."""


class AuthError(GatewayError):
    """The platform refused the credentials.

    The text says which, and never their value.
    """


class Tokens(Protocol):
    """Tokens that platforms gave to Parley, encrypted in the store.

    Their names are like "slack:T1:bot".

    Reading and writing raise GatewayError where the keys of the config do not fit.
    """

    async def get(self, name: str) -> SecretStr | None:
        """The token, None if there is none."""
        ...

    async def put(self, name: str, token: SecretStr) -> None:
        """Keep a token, instead of an earlier one of this name."""
        ...

    async def delete(self, name: str) -> bool:
        """Forget a token; False if there was none."""
        ...

    async def names(self) -> list[str]:
        """The names of all tokens."""
        ...


class Policy(Protocol):
    """The configured rules that adapters need."""

    @property
    def groups(self) -> frozenset[str]:
        """The groups and roles that anything depends on.

        An adapter need not know of others.
        """
        ...

    @property
    def live_links(self) -> frozenset[str]:
        """Hosts whose links stay links while an answer is being written."""
        ...

    @property
    def faces(self) -> Sequence[Face]:
        """The faces of all agents that are known."""
        ...

    def workspaces(self, platform: str) -> tuple[str, ...]:
        """The workspaces that a platform's routes name, in their order."""
        ...

    def serves(self, platform: str, workspace: str, channels: Collection[str]) -> bool:
        """True if a route is for this workspace or its channels."""
        ...

    def introduce(self, bots: Collection[str]) -> None:
        """Know the platform's ids of an account's bot, which no account answers."""
        ...

    def offers(self, key: ConversationKey, author: Author, *, direct: bool) -> Offers:
        """The choices that a person has in a place; none for strangers."""
        ...

    def addressed(
        self,
        key: ConversationKey,
        author: Author,
        *,
        direct: bool,
        mentioned: bool,
        in_thread: bool,
        to_others: bool = False,
    ) -> bool:
        """True if something said there is meant for the team.

        An adapter ignores everything else: it is neither accepted nor stored.

        `mentioned`: it mentions the bot; `in_thread`: it stands in a thread that the bot is in;
        `to_others`: it mentions other people, and not the bot. What is not meant for that reason
        alone is accepted with `only_answers` while the thread waits for people.
        """
        ...


class Bounds(Protocol):
    """The configured limits that adapters need."""

    @property
    def largest_file(self) -> int:
        """Size limit of a file, in bytes.

        What is larger need not be fetched.
        """
        ...

    @property
    def missed(self) -> MissedRules:
        """The ages up to which missed messages are answered or offered."""
        ...


class Conversations(Protocol):
    """Conversations by their keys, and their threads."""

    async def thread_at(self, key: ConversationKey) -> ThreadInfo | None:
        """The conversation's current thread; None if it is unknown."""
        ...

    async def history_limit(self, key: ConversationKey) -> HistoryLimit:
        """Limit of a conversation's history on its platform.

        What was deleted in the store is not to be read from there.
        """
        ...

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give a thread another title. Raises NotFound."""
        ...

    async def rate(
        self, thread: str, part: str, person: str, *, good: bool, reason: str = ""
    ) -> None:
        """Keep a person's rating of a part of a thread's answer.

        It replaces an earlier one. Raises NotFound.
        """
        ...


class FileStore(Protocol):
    """Files of messages that adapters fetch once the messages are stored."""

    async def awaited_files(self, platform: str) -> list[MessageAwaitingFiles]:
        """The messages from a platform that wait for their files."""
        ...

    async def bring_files(
        self, inbox: int, files: Sequence[Attachment], missing: Sequence[MissingFile]
    ) -> None:
        """Give an accepted message its files, so that its turn may begin.

        Its author and its team are told what is missing. Does nothing if it no longer waits.
        """
        ...


class Leases(Protocol):
    """Leases of what one node at a time may do."""

    async def hold(self, lease: str) -> bool:
        """True if this node has the lease, which is taken if free.

        A lease is what one node at a time may do. To be asked again every second or two: it is
        lost with a node that was cut off.
        """
        ...

    async def release(self, lease: str) -> None:
        """Leave a lease to other nodes."""
        ...

    def check_speaking(self) -> None:
        """Check that this node may change something on a platform.

        To be called right before each call that does. Raises NodeCutOff.
        """
        ...


class Health(Protocol):
    """Figures and remarks on platforms, for the operator."""

    def heartbeat(self, adapter: str) -> None:
        """Note that something came in from a platform, be it a heartbeat."""
        ...

    async def node_count(self, adapter: str) -> int:
        """Number of the store's nodes that serve an account. Raises GatewayError."""
        ...

    def note_strangers(self, adapter: str, found: int) -> None:
        """Note how many others use an account's token beside the store's nodes."""
        ...

    def connection(self, adapter: str, *, is_open: bool) -> None:
        """Note that a platform was connected or lost, for `parley status`.

        Without a word of the adapter, a platform that sends frames counts as connected.
        """
        ...

    def compare_time(self, adapter: str, told: float) -> None:
        """Compare the clock with the time that a platform tells.

        `told`: seconds since the epoch. While they differ, nothing is deleted by its age.
        """
        ...

    def count_ignored(self, reason: IgnoredReason) -> None:
        """Count an event of the platform that the adapter drops."""
        ...

    def count_dead_end(self, outcome: DeadEndOutcome) -> None:
        """Count somebody who can't be answered where they asked.

        They were told so directly, or could not be.
        """
        ...

    def remark(self, adapter: str, text: str) -> None:
        """Tell the operator what a platform did not permit.

        `text` has nothing of people's.
        """
        ...

    async def probe(self) -> None:
        """Nothing, as a write. Raises the GatewayError that a write would."""
        ...


class Marks(Protocol):
    """Texts that a platform's adapter keeps under names."""

    async def read(self, platform: str, name: str = "") -> Mapping[str, str]:
        """The marks of a platform, by their names, or that of `name`."""
        ...

    async def keep(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None:
        """Keep a text for a platform's adapter; it replaces an earlier one.

        What is known `of` a conversation is deleted with its last thread, and not kept if it has
        none. A name that begins with CURSOR says what the platform has delivered already: such a
        mark is gone once the store has lost something.
        """
        ...


class AdapterHost(Protocol):
    """The gateway as adapters see it.

    Methods that store something raise StoreFull or another GatewayError if it was not stored.
    """

    @property
    def policy(self) -> Policy:
        """The configured rules."""
        ...

    @property
    def limits(self) -> Bounds:
        """The configured limits."""
        ...

    @property
    def conversations(self) -> Conversations:
        """Conversations and their threads."""
        ...

    @property
    def marks(self) -> Marks:
        """Texts that adapters keep."""
        ...

    @property
    def files(self) -> FileStore:
        """Files that are fetched once their messages are stored."""
        ...

    @property
    def leases(self) -> Leases:
        """Leases of what one node at a time may do."""
        ...

    @property
    def health(self) -> Health:
        """Figures and remarks on platforms, for the operator."""
        ...

    @property
    def tokens(self) -> Tokens:
        """The tokens that platforms gave to Parley.

        Raises GatewayError where none are kept.
        """
        ...

    def delivering(self, surface: TextSurface) -> AbstractAsyncContextManager[None]:
        """Write all threads of the surface's platform, within the context.

        Raises AuthError once the platform refuses the credentials.
        """
        ...

    def commands(self) -> list[CommandInfo]:
        """The commands that people can type."""
        ...

    def is_command(self, text: str) -> bool:
        """True if a message with this text is a command."""
        ...

    async def judge(self, message: InboundMessage) -> InboundMessage:
        """The message with the gateway's ruling on it.

        `may_write` says whether its author may write there, including people who were let in by a
        code. `accept` need not ask again.
        """
        ...

    async def open_form(self, message: InboundMessage, opening: FormOpening) -> FormSpec | str:
        """The form that an author asks for, or why they get none.

        Whoever could not send it does not see it.
        """
        ...

    async def accept(self, message: InboundMessage) -> Receipt:
        """Take a message: it is stored once this returns.

        The same message again, by any of its dedupe keys, gives the same receipt and does nothing.
        Of one that is "offered" nothing is stored: the store has lost what became of it, so that an
        answer is to be offered, and the message given again, with the time `at` which somebody
        wanted that. Raises NotFound for a thread or team that is not there.
        """
        ...

    async def known_keys(self, keys: Collection[str]) -> frozenset[str]:
        """Those of these dedupe keys whose messages were taken, or deleted."""
        ...

    def shared_rate(self, limit: RateLimit) -> SharedRate:
        """A rate of the platform that all nodes keep together."""
        ...

    def backfill(self, history: PlatformHistory[Said]) -> Backfill:
        """The reader of an account's missed messages."""
        ...


class Adapter(Protocol):
    """The connection to one platform."""

    @property
    def name(self) -> str:
        """Its name in [adapters]."""
        ...

    async def run(self, host: AdapterHost) -> None:
        """Connect, and hand in what arrives with `host.accept`, until cancelled.

        Each frame that comes in, a heartbeat, too, is told to `host.health.heartbeat`: a
        platform that is silent for two minutes counts as lost.

        Raises AuthError for credentials that no further try would help.
        """
        ...


@value
class CheckResult:
    """Result of a check of a platform's settings.

    A line about them, and what is wrong, each with what to do. `warnings` are what works but should
    be changed.
    """

    text: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Simulation(Protocol):
    """A simulated platform; the user at the terminal is its people."""

    @property
    def table(self) -> Mapping[str, Any]:
        """The settings for `[adapters.NAME]` that connect to it."""
        ...

    @property
    def scope(self) -> Mapping[str, str]:
        """Further settings of a route that lets in all its people."""
        ...

    @property
    def operators(self) -> Sequence[str]:
        """The ids of the people who may decide about tools there (Author.id)."""
        ...

    def room(self, name: str) -> str:
        """A channel of that name, made if there is none; its id."""
        ...

    async def talk(self) -> None:
        """Let the user at the terminal speak as the people."""
        ...


@value
class WrittenSettings:
    """Settings of a platform as the config has them.

    `table` is that of [adapters] as it is written: it is not validated, and its secrets may be
    missing.
    """

    table: Mapping[str, Any]
    routes: tuple[Route, ...]


@value
class TrustedSettings:
    """Valid settings of a platform, for a command that uses its tokens.

    `settings` are an instance of its Config; `commands` those that people have in chats.
    """

    settings: Any
    commands: tuple[CommandInfo, ...]


class SettingsReader(Protocol):
    """Reads the config that a platform's command was given."""

    def __call__(self) -> WrittenSettings:
        """Raises GatewayError for a config that can't be read."""
        ...

    def trusted(self, *, trust: bool) -> TrustedSettings | None:
        """The whole config's settings of this platform, None if it has none.

        A config that is only found in the current folder is asked about first, unless `trust`.
        From then on, this process uses the config's proxy. Raises GatewayError.
        """
        ...


class SettingsCheck(Protocol):
    """Tries a platform's settings out without changing anything there."""

    async def __call__(self, config: Any, routes: Sequence[Route]) -> CheckResult:
        """The findings; faults of the settings or the platform raise nothing."""
        ...


class NameSearch(Protocol):
    """Looks a platform's people up by their names."""

    async def __call__(self, config: Any, names: Sequence[str]) -> Sequence[str]:
        """The bot's name, and those of members that begin so.

        Raises GatewayError.
        """
        ...
