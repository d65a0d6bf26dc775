"""Verdict of the authority on one message.

It travels inside the message and is good for that one alone.
"""

from __future__ import annotations

from gateway.access.authority import Access, Admission, Verdict
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.values import value


@value
class Judgement:
    """Verdict on a message, bound to its author, place and authority.

    `may_write` also counts people who were let in by a code.
    """

    verdict: Verdict
    by: Access
    key: ConversationKey
    author: Author
    direct: bool
    may_write: bool


def judge(message: InboundMessage, access: Access) -> Judgement:
    """The valid verdict that the message carries, or a fresh one.

    One is good for the same author in the same place, while the same authority is in use: whatever
    else a message carries is not looked at, so that no adapter can let anybody in.
    """
    carried = message.ruling
    if isinstance(carried, Judgement) and _is_good(carried, message, access):
        return carried
    verdict = access.judge(message)
    return Judgement(
        verdict=verdict,
        by=access,
        key=message.key,
        author=message.author,
        direct=message.direct,
        may_write=isinstance(verdict, Admission),
    )


def _is_good(carried: Judgement, message: InboundMessage, access: Access) -> bool:
    return (
        carried.by is access
        and carried.key == message.key
        and carried.author == message.author
        and carried.direct == message.direct
    )
