"""Items of a thread, and the messages that show each. Pure.

An item's `id` is the same whenever the thread's events are read again; `seq` is that of the event
it began with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeAlias, TypeVar

from gateway.conversation import ConversationKey
from gateway.events import InputRequested, SessionEvent
from gateway.outbox import OutboxRow
from gateway.render.sanitize import label, sanitize
from gateway.render.split import Piece, split
from gateway.surface import (
    Activity,
    ActivityStatus,
    Card,
    Content,
    Document,
    EditSurface,
    File,
    Line,
    RoomSurface,
    Speech,
    TextSurface,
    Use,
    offers,
)

WHOLE = 1000
"""The number of the part that is a file with all of a text."""
LOOKED_AT = 2
"""Times the longest text that messages show: more of one is not read for them."""
NAME = 80
TOLD = 100
"""A growing text tells its length in steps of so many characters."""
INTERRUPTED = "(This was interrupted and not repeated.)"
OVER = "The wait is over."
LEFT_OVER = "(No more was said here.)"


@dataclass(slots=True, kw_only=True, eq=False)
class _Item:
    """An item; it stands in its thread, or at its `place`."""

    id: str
    seq: int
    asker: str
    place: ConversationKey | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class SpeechItem(_Item):
    """An agent's words, the calls before them, and the hand-offs after them.

    `growing`: more may come. `resuming`: what stands is of an interrupted attempt. `interrupted`:
    such a text stood here once. `mark`: the line on how it ended. `whole`: it was said, and never
    changes. `spoken`: words are shown in it, not only calls.
    """

    agent: str
    text: str = ""
    growing: bool = True
    resuming: bool = False
    interrupted: bool = False
    mark: str = ""
    whole: bool = False
    spoken: bool = False
    acts: dict[str, Activity] = field(default_factory=dict[str, Activity])
    leaves: list[Activity] = field(default_factory=list[Activity])

    @property
    def activity(self) -> tuple[Activity, ...]:
        """All that it did."""
        return (*self.acts.values(), *self.leaves)

    def forget_running(self) -> None:
        """Tell nothing of calls that have not ended."""
        self.acts = {id: act for id, act in self.acts.items() if act.status != "running"}

    def act(self, id: str, title: str, status: ActivityStatus, detail: str = "") -> None:
        """Tell of a tool call."""
        self.acts[id] = Activity(id=id, kind="tool", title=title, status=status, detail=detail)


@dataclass(slots=True, kw_only=True, eq=False)
class CardItem(_Item):
    """A question to people; `request` and `mentions` are looked up later."""

    request_id: str
    request: InputRequested | None = None
    outcome: str = ""
    by: str = ""
    mentions: tuple[str, ...] | None = None
    link: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class LineItem(_Item):
    """A line of the gateway's own.

    Not in its thread, it only stands below the card of the id `below`.
    `outdated`: its command was used, or can do nothing any more. `changed`: it said something else.
    `passing`: it is taken away once it is `over`.
    """

    line: Line
    below: str = ""
    outdated: bool = False
    changed: bool = False
    passing: bool = False
    over: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class FileItem(_Item):
    """Files in the thread's folder, in one message; `growing`: more may come."""

    agent: str
    paths: list[str]
    size: int
    growing: bool = True


E = TypeVar("E", bound=SessionEvent)
Item: TypeAlias = SpeechItem | CardItem | LineItem | FileItem


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredMessage:
    """A message as it should stand; a file's `content` has no data."""

    n: int
    content: Content
    first: int = 0
    last: int = 0
    before: int = 0
    """Characters of the text that come before the item's own."""
    lasting: bool = True
    """It is not about to change."""
    use: Use = "post"
    open: bool = False
    needed: bool = True
    """It is to stand there; if not, it only replaces what stands there already."""
    left_over: bool = False
    """It says nothing: a platform that can removes it."""

    @property
    def digest(self) -> str:
        """A hash of what it shows."""
        return digest_of(repr(self.content))

    @property
    def body(self) -> str:
        """A hash of the item's text from `first` to `last`."""
        text = self.content.text if isinstance(self.content, Speech) else ""
        return digest_of(text[self.before :][: self.last - self.first])

    def continued_in(self, file: str) -> DesiredMessage:
        """This message, which says that a file has the rest."""
        assert isinstance(self.content, Speech)
        return replace(self, content=replace(self.content, rest_in=file))

    def closed_after(self, shown: str) -> DesiredMessage:
        """This message, closed with the text `shown` and what that holds."""
        assert isinstance(self.content, Speech)
        same = _shared(shown, self.content.text)
        if shown[same:].strip("`~ \t\n>"):  # more than a fence's end
            same = 0
        rest = replace(self.content, text=shown, last=False, growing=False, resuming=False)
        last = self.first + max(0, same - self.before)
        return replace(self, content=rest, last=last, lasting=True)


def with_names(event: E, names: Mapping[str, str]) -> E:
    """An event in which agents have their names for people."""
    found = {name: names.get(getattr(event, name, "")) for name in ("agent", "target")}
    return replace(event, **{name: it for name, it in found.items() if it}) if names else event


def digest_of(text: str) -> str:
    """A hash that two different texts never share."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_of(thread: str, item: str, n: int, generation: int) -> str:
    """The key of a part, unique and the same at every try."""
    return digest_of(f"{thread}\n{item}\n{n}\n{generation}")[:24]


def desired_messages(
    item: Item, surface: TextSurface, rows: Mapping[int, OutboxRow]
) -> list[DesiredMessage]:
    """The messages that show an item, in order; `rows` already stand."""
    match item:
        case SpeechItem():
            return _speech(item, surface, rows)
        case CardItem():
            return _card(item, surface, rows)
        case LineItem():
            return [_line(item, surface)]
        case FileItem():
            if item.growing:
                return []
            files = tuple(File(name=file_name(path), data=b"") for path in item.paths)
            return [DesiredMessage(n=0, content=Document(files=files, agent=item.agent))]


def file_name(path: str) -> str:
    """The name of a file, for people."""
    return label(PurePosixPath(path).name, NAME)


def whole_text(item: SpeechItem) -> bytes:
    """All of what an agent says, as a file."""
    return sanitize(item.text).encode()


def _line(item: LineItem, surface: TextSurface) -> DesiredMessage:
    if item.over:
        return DesiredMessage(
            n=0, content=Line(text=OVER), use="final", needed=False, left_over=True
        )
    line = replace(item.line, text=surface.neutral(item.line.text))
    if item.outdated or not line.command:
        line = replace(line, command="", label="", others=())
    use: Use = "final" if item.outdated or item.changed else "post"
    return DesiredMessage(
        n=0,
        content=line,
        use=use,
        open=item.passing or bool(line.command),
        needed=not item.outdated,
    )


def _card(
    item: CardItem, surface: TextSurface, rows: Mapping[int, OutboxRow]
) -> list[DesiredMessage]:
    if item.request is None:  # it never stood there
        return []
    if item.outcome and 0 in rows and not offers(surface, EditSurface):
        by = f" ({item.by})" if item.by else ""
        return [DesiredMessage(n=1, content=Line(text=surface.neutral(f"{item.outcome}{by}")))]
    card = Card(
        request=item.request,
        outcome=item.outcome,
        by=item.by,
        mentions=item.mentions or (),
        away=item.place is not None,
        link=item.link,
    )
    return [DesiredMessage(n=0, content=card, use="card", open=not item.outcome)]


def _speech(
    item: SpeechItem, surface: TextSurface, rows: Mapping[int, OutboxRow]
) -> list[DesiredMessage]:
    limits = surface.limits
    begun = item.text[: LOOKED_AT * limits.whole]
    text = surface.neutral(begun)
    cuts = _cuts(text, rows)
    most = limits.messages + sum(row.closed for row in rows.values())
    first, limit = _rooms(item, surface, text)
    pieces = split(
        text,
        first=first,
        limit=limit,
        length=surface.length,
        cuts=cuts,
        growing=item.growing,
        most=most + 1,
    )
    long = len(begun) < len(item.text) or len(pieces) > most or surface.length(text) > limits.whole
    if long:
        pieces = [piece for piece in pieces[:most] if piece.first < limits.whole]
    if not pieces:
        pieces = [Piece(first=0, last=0, body="")]
    closed = {n for n, row in rows.items() if row.closed}
    name = _whole_name(item)
    told = len(item.text) // TOLD * TOLD if long and limits.tells_length else 0
    parts = [
        _part(item, n, piece, last=n == len(pieces) - 1, closed=n in closed, written=told)
        for n, piece in enumerate(pieces)
    ]
    if long and not item.growing:
        parts[-1] = parts[-1].continued_in(name)
    shown = [part for part in parts if _says_something(part)]
    if item.growing:
        return shown
    said = {part.n for part in shown}
    shown += [_left_over(item, n) for n in sorted(rows) if n not in said and n < WHOLE]
    if long:
        what = f"The whole answer, {len(item.text):,} characters:"
        file = File(name=name, data=b"")
        whole = Document(files=(file,), text=surface.neutral(what), agent=item.agent)
        shown.append(DesiredMessage(n=WHOLE, content=whole))
    return shown


def _rooms(item: SpeechItem, surface: TextSurface, text: str) -> tuple[int, int]:
    """Characters of the text in its first message, and in others."""
    if not offers(surface, RoomSurface):
        return surface.limits.message, surface.limits.message
    around = Speech(
        agent=item.agent,
        text="",
        activity=tuple(item.leaves),
        growing=item.growing,
        mark="" if item.growing else item.mark,
    )
    whole = replace(around, activity=item.activity)
    if surface.length(text) <= (first := surface.room(whole)):
        return first, first
    long = {"rest_in": _whole_name(item)}
    return surface.room(replace(whole, **long)), surface.room(replace(around, first=False, **long))


def _whole_name(item: SpeechItem) -> str:
    """The name of the file with the whole text."""
    return f"{label(item.agent, NAME)}.md"


def _part(
    item: SpeechItem, n: int, piece: Piece, *, last: bool, closed: bool, written: int
) -> DesiredMessage:
    growing = item.growing and last and not closed  # what was closed still shows how calls end
    speech = Speech(
        agent=item.agent,
        text=f"{piece.before}{piece.body}" if growing else piece.text,
        activity=(*(item.acts.values() if n == 0 else ()), *(item.leaves if last else ())),
        first=n == 0,
        last=last and not item.growing,
        growing=growing,
        resuming=item.resuming,
        mark=item.mark if last and not item.growing else "",
        written=written if growing else 0,
    )
    return DesiredMessage(
        n=n,
        content=speech,
        first=piece.first,
        last=piece.last,
        before=len(piece.before),
        lasting=not growing and not item.resuming,
        use="edit" if growing else "final",
    )


def _says_something(part: DesiredMessage) -> bool:
    content = part.content
    assert isinstance(content, Speech)
    return bool(content.activity or (part.first < part.last and content.text.strip()))


def _left_over(item: SpeechItem, n: int) -> DesiredMessage:
    """For a message that stands there and has nothing left to say."""
    lost = item.interrupted and not item.text and n == 0
    speech = Speech(agent=item.agent, text=INTERRUPTED if lost else LEFT_OVER, first=n == 0)
    return DesiredMessage(n=n, content=speech, use="final", needed=False, left_over=True)


def _shared(one: str, other: str) -> int:
    """Number of characters that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cuts(text: str, rows: Mapping[int, OutboxRow]) -> list[int]:
    """Ends of the existing messages in the text that are still valid."""
    cuts: list[int] = []
    at = 0
    for n in range(len(rows)):
        row = rows.get(n)
        if row is None or row.first != at:
            break
        if row.closed or n + 1 in rows:
            same = row.last <= len(text) and digest_of(text[at : row.last]) == row.body
            if not same and not row.closed:
                break
            at = row.last if same else at
            cuts.append(at)
    return cuts


def may_change(item: Item) -> bool:
    """True while more may be said in it."""
    grows = isinstance(item, SpeechItem | FileItem) and item.growing
    return grows or (isinstance(item, SpeechItem) and item.resuming)


def stamp(item: Item) -> object:
    """The item's state: if it changes, so does what stands there."""
    match item:
        case SpeechItem():
            return (item.growing, item.resuming, item.mark, len(item.text), item.activity)
        case CardItem():
            return (item.outcome, item.by)
        case LineItem():
            return (item.outdated, item.over, item.line)
        case FileItem():
            return (item.growing,)
