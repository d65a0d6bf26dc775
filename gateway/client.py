"""Interface of interactive surfaces to a gateway, local or remote."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from mimetypes import guess_type
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from gateway.base.paths import read_ordinary
from gateway.errors import GatewayError
from gateway.events import GrantKind, InputRequested, SessionEvent
from gateway.values import Origin, value

ThreadState: TypeAlias = Literal["idle", "working", "waiting", "parked"]
AnswerKind: TypeAlias = Literal["text", "approve", "deny"] | GrantKind
Outcome: TypeAlias = Literal["turn", "queued", "answer", "command", "merged", "refused", "offered"]
ArgumentKind: TypeAlias = Literal["", "text", "word", "team", "model", "agent", "thread", "theme"]
"""Kinds of a command's argument: none, free text, one of the command's own words, or a name."""
ChoiceKind: TypeAlias = Literal["team", "model"]
"""Kinds of names that only the gateway knows."""


@value
class SentFile:
    """A file that goes with a message.

    `data` may be left out where it is too large anyway: then `left_out` is its size in bytes.
    """

    name: str
    media_type: str
    data: bytes
    left_out: int = 0

    @classmethod
    def read(cls, path: Path, largest: float) -> SentFile:
        """A file of this machine, without the data of a larger one.

        Blocks. Raises GatewayError for a folder, a pipe, a device, or what can't be read.
        """
        try:
            data, size = read_ordinary(path, int(largest))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "no file has such a name"
            raise GatewayError(f"The file {str(path)!r} can't be read: {why}.") from error
        kind = guess_type(path.name)[0] or "application/octet-stream"
        left_out = 0 if data else size
        return cls(name=path.name, media_type=kind, data=data, left_out=left_out)


FORK_HERE = (
    "The thread is on {platform}. Its fork is a thread of the terminal: all who may open this store"
    " can read what people wrote there, and people on {platform} do not see the fork."
)


@value
class ThreadInfo:
    """One thread as lists show it.

    `updated_at` is in seconds since the epoch.
    """

    id: str
    title: str
    team: str
    state: ThreadState
    updated_at: float
    last_seq: int = 0
    preview: str = ""
    platform: str = ""
    channel: str = ""
    """The platform's id of the place; empty for a thread of the terminal's own."""
    place: str = ""
    """The channel's name, such as "#general", as far as it is known."""
    members: int | None = None
    """Number of people who read there, where the platform tells it."""
    direct: bool = False
    """Only the person who writes there reads it."""
    queued: int = 0
    """Messages that wait; like the next two, only lists of threads say it."""
    asks: str = ""
    """The agent that waits for an answer."""
    asked: str = ""
    """The name of the person it waits for; empty for the operator."""
    muted: bool = False
    """Only messages that mention the bot are answered."""
    model: str = ""
    """The config's name of the model that all its agents use; empty: each has its own."""
    config: str = ""
    """The real path of the config it was begun with, or BUILT_IN; empty if that is not known."""
    foreign: bool = False
    """That is another config than the gateway's."""

    @property
    def fork_asks(self) -> str:
        """The question before a fork in the terminal; "" without one."""
        return FORK_HERE.format(platform=self.platform.capitalize()) if self.channel else ""

    def is_for_team(self, *, mentioned: bool) -> bool:
        """True if a message there may concern the team."""
        return mentioned or not self.muted or self.state == "waiting"


@value
class Receipt:
    """Outcome of a stored message.

    `reply` is a command's answer, for the sender alone.

    `thread` is where the conversation goes on: another one after /new.
    """

    inbox: int
    thread: str
    outcome: Outcome
    reply: str = ""
    private: bool = False
    """Nobody else may see the reply, wherever the command was written."""
    choices: tuple[tuple[str, str], ...] = ()
    """Commands that the reply offers, with their labels."""


TOGETHER = ", "
"""Between several options in an answer."""


@value
class Answer:
    """A person's answer to a request.

    Text (or the chosen option), approve once or for the rest of the thread, or deny with a note.
    """

    kind: AnswerKind
    text: str = ""


CANCEL = "Cancel"
"""The answer to a server's question that ends it."""


def chosen(text: str, options: tuple[str, ...], *, several: bool) -> str:
    """Options named by words or numbers, or the text itself."""
    named = [_named(each, options) for each in (text.split(",") if several else [text])]
    whole = _named(text, options)
    if whole or not all(named):
        return whole or text
    return TOGETHER.join(option for option in options if option in named)


def _named(text: str, options: tuple[str, ...]) -> str:
    """The option that a text names, or ""."""
    wanted = text.strip()
    for option in options:
        if option.casefold() == wanted.casefold():
            return option
    number = int(wanted) if re.fullmatch("[0-9]{1,9}", wanted) else 0
    return options[number - 1] if 1 <= number <= len(options) else ""


@value
class RequestInfo:
    """A request to a human as people see it, with its state.

    `asker` is whose message the asking turn works on (Author.id), `outcome` is for people.
    """

    card: InputRequested
    open: bool
    outcome: str = ""
    asker: str = ""


@value
class Choice:
    """A value that a command's argument takes, and what it is."""

    name: str
    description: str = ""
    goes_on: bool = False
    """More has to be typed behind it, such as a number."""


@value
class CommandInfo:
    """A slash command with its one-line description.

    `takes` is the kind of its argument, `argument` how the help writes it, and `choices` are the
    words of a "word".
    """

    name: str
    description: str
    argument: str = ""
    takes: ArgumentKind = ""
    choices: tuple[Choice, ...] = ()


class Client(Protocol):
    """A person's view of the gateway.

    Every method may raise GatewayError with a sentence for people.

    `events(thread, after)` first replays what is stored after that seq, then goes on live until
    closed; it never yields the same seq twice. Deltas of an open message are given from its
    beginning.
    """

    async def threads(
        self,
        *,
        search: str = "",
        platform: str = "",
        own_first: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> list[ThreadInfo]:
        """The threads, last used first; `search` has words of them.

        All platforms' unless one is named: LOCAL for the terminal's own. `own_first` has those of
        other configs last, unless something is searched.
        """
        ...

    async def thread(self, thread: str) -> ThreadInfo:
        """One thread. Raises NotFound."""
        ...

    async def newest_thread(self) -> ThreadInfo | None:
        """The config's last thread in the terminal, if its team is there."""
        ...

    async def create_thread(self, *, team: str = "", title: str = "") -> ThreadInfo:
        """A new, empty thread, on the default team unless named."""
        ...

    async def fork_thread(self, thread: str, *, back: int = 0, before: int = 0) -> ThreadInfo:
        """A new thread that begins where a turn of this one ended.

        It is `back` turns before the last, or the one before that of a message, by its number.
        Raises NotFound, also where that is not kept.
        """
        ...

    async def rename_thread(self, thread: str, title: str) -> None:
        """Give the thread another title."""
        ...

    async def adopt_thread(self, thread: str) -> None:
        """Let a thread of another config go on under the gateway's.

        Raises NotFound, also if this config has no such team.
        """
        ...

    async def delete_thread(self, thread: str) -> None:
        """Delete the thread with everything that was said and made in it."""
        ...

    async def send(self, thread: str, text: str, *, files: Sequence[SentFile] = ()) -> Receipt:
        """Write to the thread; once this returns, the text is safely stored.

        Like `answer`, raises OtherConfig for a thread of another config.
        """
        ...

    async def withdraw(self, thread: str, inbox: int) -> str | None:
        """Withdraw a waiting message; its text, None if it no longer waits."""
        ...

    async def answer(self, request: str, answer: Answer) -> str | None:
        """Answer a request.

        None if the answer was taken, otherwise a sentence why not (already answered ...).
        """
        ...

    async def stop(self, thread: str) -> bool:
        """Stop the running turn. False if there was none."""
        ...

    def events(self, thread: str, *, after: int = 0) -> AsyncIterator[SessionEvent]:
        """Events of the thread after this seq, then new ones."""
        ...

    async def note_export(self, thread: str) -> dict[str, int]:
        """Add to the audit that the operator has exported a thread.

        Returns how many have called an answer of it "good" or "bad".
        """
        ...

    def commands(self) -> list[CommandInfo]:
        """The slash commands there are."""
        ...

    async def agents(self, team: str = "", *, model: str = "") -> dict[str, str]:
        """A team's agents in order, each with its model's label, or "".

        The default team's unless named. `model` is a thread's for all its agents. A team from
        Python has known agents once it was built; an unknown team has none.
        """
        ...

    async def file_faults(
        self, files: Sequence[SentFile], *, team: str = "", model: str = ""
    ) -> list[str]:
        """Sentences on files that a team can't be shown.

        As far as it is known before they are sent. `team` and `model` are as in `agents`.
        """
        ...

    async def made_file(self, thread: str, path: str) -> SentFile:
        """A file of the thread's own folder, as FileMade names it.

        Raises NotFound, also for a link and for a file larger than the gateway's files may be.
        """
        ...

    async def choices(self, kind: ChoiceKind) -> list[Choice]:
        """The config's names of this kind, in its order, with descriptions."""
        ...

    def operator(self) -> str:
        """The name of the person at the terminal, as others read it."""
        ...

    def origin(self) -> Origin:
        """The config with which the gateway runs."""
        ...

    def owner(self) -> int | None:
        """The pid of the gateway's process; None if it is this one."""
        ...
