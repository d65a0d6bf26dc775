"""Contents of messages as one value, and their words for the team.

An adapter reads each payload once into a `VisibleContent`. It holds facts, no sentences: all words
around them are said here. What is not the author's own text is data to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from gateway.conversation import AwaitedFile, InboundMessage, MissingFile, Quote, QuoteKind
from gateway.render.sanitize import label

Pointed: TypeAlias = Literal["quote", "root", "history", "forward"]
"""Ways in which a message that stands elsewhere came with another."""

Change: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The person or app that wrote a message; `id` is the platform's.

    `sure`: the platform vouches for the id.
    """

    name: str = ""
    id: str = ""
    sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A card below a message, such as an alert or an embed.

    Also the preview of a link: `site` is the one that a preview shows, "" for a card that the
    message's author made.
    """

    author: str = ""
    title: str = ""
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    footer: str = ""
    site: str = ""

    def map(self, change: Change) -> Card:
        """The card with each of its texts changed."""
        return Card(
            author=change(self.author),
            title=change(self.title),
            text=change(self.text),
            fields=tuple((change(name), change(value)) for name, value in self.fields),
            footer=change(self.footer),
            site=self.site,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """A poll; an answer has its votes, None where nobody tells them."""

    question: str
    answers: tuple[tuple[str, int | None], ...] = ()
    closed: bool = False

    def map(self, change: Change) -> Poll:
        """The poll with each of its texts changed."""
        answers = tuple((change(answer), votes) for answer, votes in self.answers)
        return replace(self, question=change(self.question), answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """A part whose contents can't be read.

    `what` is its kind with an article, such as "a voice message"; `name` its title, if any.
    """

    what: str
    name: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"{self.what}{name} of {self.seconds:.0f} s" if self.seconds else self.what + name


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleContent:
    """Contents of a message, as people see them.

    They are shown in the order of the fields. `text` is all that stands in the message itself,
    blocks and components included. `files` can be fetched, `unread` names what can't be read.
    """

    who: Writer = field(default_factory=Writer)
    text: str = ""
    polls: tuple[Poll, ...] = ()
    stickers: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    files: tuple[AwaitedFile, ...] = ()
    unread: tuple[UnreadPart, ...] = ()
    forwards: tuple[VisibleContent, ...] = ()

    def map(
        self, change: Change, name: Callable[[Writer], Writer] = lambda who: who
    ) -> VisibleContent:
        """The content with each of its texts changed, and each writer named."""
        return replace(
            self,
            who=name(self.who),
            text=change(self.text),
            polls=tuple(each.map(change) for each in self.polls),
            cards=tuple(each.map(change) for each in self.cards),
            forwards=tuple(each.map(change, name) for each in self.forwards),
        )

    def nested(self) -> Iterator[VisibleContent]:
        """This content, and that of each message forwarded in it."""
        yield self
        for each in self.forwards:
            yield from each.nested()


def own_text(content: VisibleContent) -> str:
    """The author's own words: text, polls and stickers."""
    return _lines(
        content.text,
        *map(_poll_text, content.polls),
        *(f"(sticker: {name})" for name in content.stickers),
    )


def headline(contents: Iterable[VisibleContent]) -> str:
    """The first text that messages show, or else the first name."""
    parts = [part for each in contents for part in each.nested()]
    texts = [_whole_text(replace(part, forwards=()), named=False) for part in parts]
    names = [file.name for part in parts for file in part.files]
    return next(filter(None, [*texts, *names]), "")


def quote_of(kind: Pointed, content: VisibleContent, trusted: Collection[str] = ()) -> Quote:
    """A whole message as data, verified if its writer is `trusted`.

    Where nobody pointed at it, its files and what can't be read are named in it: they do not come.
    """
    who = content.who
    return Quote(
        text=_whole_text(content, named=kind == "history"),
        author=who.name or who.id,
        verified=who.sure and who.id in trusted,
        kind=kind,
    )


def with_content(
    message: InboundMessage,
    content: VisibleContent,
    pointed: Sequence[tuple[Pointed, VisibleContent]] = (),
    *,
    trusted: Collection[str] = (),
) -> InboundMessage:
    """The message with all that it shows and brings.

    `pointed` are messages elsewhere, the oldest first; one that shows nothing is left out.
    """
    elsewhere = [quote_of(kind, each, trusted) for kind, each in pointed]
    forwards = [quote_of("forward", each, trusted) for each in content.forwards]
    found = [content, *(each for kind, each in pointed if kind != "history")]
    parts = [part for each in found for part in each.nested()]
    return replace(
        message,
        text=own_text(content),
        quotes=tuple(
            each for each in (*elsewhere, *forwards, *map(_card_quote, content.cards)) if each.text
        ),
        awaited=tuple(file for part in parts for file in part.files),
        missing=tuple(
            MissingFile(name=str(each), part=True) for part in parts for each in part.unread
        ),
    )


def _card_quote(card: Card) -> Quote:
    kind: QuoteKind = "link" if card.site else "card"
    return Quote(text=_card_text(card), author=card.site, kind=kind)


def _whole_text(content: VisibleContent, *, named: bool) -> str:
    """All that a message shows, as one text."""
    names = [*content.files, *content.unread] if named else []
    return _lines(
        own_text(content),
        *(_of_site(card) for card in content.cards),
        *(f"({_name_of(each)})" for each in names),
        *(_forwarded_text(each, named=named) for each in content.forwards),
    )


def _forwarded_text(content: VisibleContent, *, named: bool) -> str:
    by = content.who.name or content.who.id
    head = f"Forwarded message by {by!r}:" if by else "Forwarded message:"
    text = _whole_text(content, named=named)
    return "\n".join([head, *(f"> {line}" for line in text.split("\n"))]) if text else ""


def _name_of(part: AwaitedFile | UnreadPart) -> str:
    return f"file: {part.name}" if isinstance(part, AwaitedFile) else f"not readable: {part}"


def _of_site(card: Card) -> str:
    text = _card_text(card)
    return f"Preview of a link to {card.site}:\n{text}" if card.site and text else text


def _card_text(card: Card) -> str:
    fields = (f"{name}: {value}" if name else value for name, value in card.fields)
    return _lines(card.author, card.title, card.text, *fields, card.footer)


def _poll_text(poll: Poll) -> str:
    closed = " (closed)" if poll.closed else ""
    return _lines(f"Poll{closed}: {poll.question}", *map(_answer_text, poll.answers))


def _answer_text(answer: tuple[str, int | None]) -> str:
    text, votes = answer
    if votes is None:
        return f"- {text}"
    return f"- {text}: {votes} {'vote' if votes == 1 else 'votes'}"


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)


def names_of(missing: Iterable[MissingFile], longest: int) -> str:
    """The missing parts that are no files, as one phrase."""
    return ", ".join(label(each.name, longest) for each in missing if each.part)
