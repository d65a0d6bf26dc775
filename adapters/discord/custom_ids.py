"""Custom ids of buttons, menus and forms, and the actions they mean.

An id is `g:KIND:WHAT` or `g:KIND:WHAT:NUMBER`, at most 100 characters, the same in every process;
what it is about is looked up, and nothing in it would have to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

ActionKind: TypeAlias = Literal[
    "approve",
    "same",
    "below",
    "new",
    "always",
    "deny",
    "note",
    "choice",
    "menu",
    "text",
    "command",
    "missed",
]
"""The effect of a click: answers an approval (`note`: asks for one in a form first), chooses by a
button or from a menu, asks for text in a form, says a command, or wants an answer to missed
messages.
"""

LONGEST = 100
_KINDS = frozenset(get_args(ActionKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A click on something of ours.

    `what` is the id of the request, for `command` the command, for `missed` that of the message.
    `number` is the index of an option.
    """

    kind: ActionKind
    what: str
    number: int | None = None

    def __str__(self) -> str:
        tail = "" if self.number is None else f":{self.number}"
        return f"g:{self.kind}:{self.what}{tail}"

    @property
    def fits(self) -> bool:
        """True if Discord accepts the id."""
        return len(str(self)) <= LONGEST


def parse_action(custom_id: str) -> Action | None:
    """The inverse of `str`; None for what is none of ours."""
    prefix, _, rest = custom_id.partition(":")
    kind, _, what = rest.partition(":")
    if prefix != "g" or kind not in _KINDS or not what:
        return None
    number = None
    if kind in ("choice", "menu"):
        what, _, tail = what.rpartition(":")
        if not (what and tail.isascii() and tail.isdigit()):
            return None
        number = int(tail)
    return Action(kind=cast("ActionKind", kind), what=what, number=number)
