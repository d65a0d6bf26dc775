"""Use of buttons, menus, forms and commands, on whatever platform.

A card has the `buttons` of its request, in rows. An adapter makes its payload of each, and of a
payload that comes back, once, an Interaction: what a button means says `Button.pressed`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast, get_args

from gateway.client import TOGETHER, Answer, AnswerKind
from gateway.events import GRANT_WORDS, InputRequested, grant_label, grant_word
from gateway.values import value

ButtonKind: TypeAlias = Literal[
    "approve",
    "same",
    "below",
    "new",
    "always",
    "deny",
    "note",
    "choice",
    "choices",
    "text",
    "command",
    "feedback",
    "reason",
    "missed",
]
"""Effect of a button.

`note` opens a form for a reason before it denies, `text` one for an answer; `choices` answers with
what is chosen in the menu beside it, which comes apart from it; `command` runs a command;
`feedback` rates a message, and `reason` is the form that asks why; `missed` has missed messages
answered.
"""
FormKind: TypeAlias = Literal["note", "text", "reason"]

_KINDS = frozenset(get_args(ButtonKind))
_VERDICTS: Mapping[str, AnswerKind] = {"approve": "approve", "deny": "deny", **GRANT_WORDS}


@value
class Click:
    """A button pressed on a request's card."""

    request: str
    answer: Answer

    def answer_to(self, options: tuple[str, ...]) -> Answer:
        """The answer that it is."""
        return self.answer


@value
class Choice:
    """One or several of a request's options, by their numbers."""

    request: str
    numbers: tuple[int, ...]

    def answer_to(self, options: tuple[str, ...]) -> Answer:
        """The answer that it is; an empty one without such options."""
        known = [each for each in sorted({*self.numbers}) if each < len(options)]
        return Answer(kind="text", text=TOGETHER.join(options[each] for each in known))


@value
class FormOpening:
    """A wish for a form; see `AdapterHost.open_form`.

    `request` is the part that was rated where it asks for the reason.
    """

    request: str
    kind: FormKind

    def sent(self, text: str) -> Form:
        """The form, filled in."""
        return Form(request=self.request, kind=self.kind, text=text)


@value
class Form:
    """A form that was sent."""

    request: str
    kind: FormKind
    text: str

    def answer_to(self, options: tuple[str, ...]) -> Answer:
        """The answer that it is."""
        return Answer(kind="deny" if self.kind == "note" else "text", text=self.text.strip())

    @property
    def rating(self) -> Rating | None:
        """The rating that it explains; None if it answers a request."""
        if self.kind != "reason":
            return None
        return Rating(part=self.request, good=False, reason=self.text.strip())


@value
class Command:
    """A command, as somebody would type it."""

    text: str


@value
class Rating:
    """A rating of the part with this key."""

    part: str
    good: bool
    reason: str = ""

    @property
    def opening(self) -> FormOpening | None:
        """The form that asks why an answer is bad."""
        return None if self.good else FormOpening(request=self.part, kind="reason")


@value
class AnswerNow:
    """A wish for answers to missed messages, from this one on."""

    first: str


RequestAnswer: TypeAlias = Click | Choice | Form
"""Interactions that answer a request; `AdapterHost.accept` takes them."""
Interaction: TypeAlias = RequestAnswer | FormOpening | Command | Rating | AnswerNow


@value
class FormSpec:
    """A form with one text, for somebody who may fill it in.

    `prompt` is the request in plain text, "" where its card says enough; `required`: a text without
    a character is none.
    """

    request: str
    kind: FormKind
    title: str
    prompt: str
    label: str
    send: str
    required: bool


@value
class Button:
    """A button, or an option of a menu.

    It is `about` a request, a command, a part or a message, as its kind says; `number` is that of
    an option, and for feedback 1 for praise, 0 for blame. It carries nothing that would have to be
    believed.
    """

    kind: ButtonKind
    about: str
    number: int = 0
    label: str = ""

    @property
    def id(self) -> str:
        """An id that says all of it but the label."""
        tail = f":{self.number}" if self.kind in ("choice", "feedback") else ""
        return f"{self.kind}:{self.about}{tail}"

    @classmethod
    def parse(cls, id: str) -> Button | None:
        """The inverse of `id`; None for what is none."""
        kind, _, about = id.partition(":")
        number = "0"
        if kind in ("choice", "feedback"):
            about, _, number = about.rpartition(":")
        return cls.of(kind, about, number)

    @classmethod
    def of(cls, kind: str, about: str, number: str = "0") -> Button | None:
        """The button with these words; None if there is none."""
        if kind not in _KINDS or not about or not re.fullmatch("[0-9]{1,9}", number):
            return None
        return cls(kind=cast("ButtonKind", kind), about=about, number=int(number))

    @property
    def pressed(self) -> Interaction:
        """Its meaning."""
        match self.kind:
            case "note" | "text" | "reason":
                return FormOpening(request=self.about, kind=self.kind)
            case "choice" | "choices":
                numbers = (self.number,) if self.kind == "choice" else ()
                return Choice(request=self.about, numbers=numbers)
            case "command":
                return Command(text=self.about)
            case "feedback":
                return Rating(part=self.about, good=bool(self.number))
            case "missed":
                return AnswerNow(first=self.about)
            case _:
                return Click(request=self.about, answer=Answer(kind=_VERDICTS[self.kind]))


def buttons(request: InputRequested) -> tuple[tuple[Button, ...], ...]:
    """The buttons of a request's card, in rows."""
    if request.request_kind in ("choice", "choices"):
        options = enumerate(request.options)
        return (tuple(_button("choice", request, words, n) for n, words in options),)
    if request.request_kind == "text":
        return ((_button("text", request, "Answer"),),)
    verdicts = (
        _button("approve", request, "Approve"),
        _button("deny", request, "Deny"),
        _button("note", request, "Deny with a note"),
    )
    grants = tuple(
        _button(cast("ButtonKind", grant_word(kind)), request, grant_label(kind, told))
        for kind, told in request.grants
    )
    return (verdicts, grants) if grants else (verdicts,)


def _button(kind: ButtonKind, request: InputRequested, label: str, number: int = 0) -> Button:
    return Button(kind=kind, about=request.request, number=number, label=label)
