"""Units of work for the target of a platform's edit or deletion."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gateway.conversation import AwaitedFile, ConversationKey, InboundMessage, Quote
from gateway.events import MessageQueued, Notice, SessionEvent
from gateway.store.connection import Connection, Row
from gateway.store.records import InboxKind, InboxOutcome, TurnStatus
from gateway.store.rulebook import Offer
from gateway.store.units.events import add_events
from gateway.store.units.files import IS_FOREIGN, LEFT_OUT, NOT_THERE, UNREAD_PART, attach, shown
from gateway.store.units.rows import first, quotes_of, scalar
from gateway.store.value_rows import update

HAS_ID = (
    "message_id = :message_id AND message_id <> ''"  # as the index has it
    " AND kind <> 'command' AND kind <> 'edit' AND thread IS NOT NULL"
)
"""Condition that a message has this number of its platform."""
GONE = "its message was deleted"
"""Reason of a turn that ends with its message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The message that an event is about, with its turn's `status`."""

    inbox: int
    thread: str
    author: str
    name: str
    kind: InboxKind
    outcome: InboxOutcome
    text: str
    turn: str
    status: TurnStatus | None

    @property
    def waits(self) -> bool:
        """True if its turn has not begun."""
        return self.outcome == "queued"

    @property
    def is_worked_on(self) -> bool:
        """True if the team is not done with it."""
        return self.status in ("running", "paused", "waiting")


def find_target(connection: Connection, message: InboundMessage) -> Target | None:
    """The message that an edit or a deletion is about, or None.

    The newest if it was run more than once; a copy in a fork if that is all there is. None for
    one that was never accepted, or was refused or withdrawn.
    """
    if not message.message_id:
        return None
    row = next(iter(_rows_of(connection, message)), None)
    if row is None or row["outcome"] == "refused":
        return None
    return Target(
        inbox=row["id"],
        thread=row["thread"],
        author=row["author"],
        name=row["author_name"],
        kind=row["kind"],
        outcome=row["outcome"],
        text=row["text"] or "",
        turn=row["turn"] or "",
        status=row["status"],
    )


def threads_of(connection: Connection, message: InboundMessage) -> set[str]:
    """The threads that have the message, forks included."""
    return {row["thread"] for row in _rows_of(connection, message)}


def _rows_of(connection: Connection, message: InboundMessage) -> list[Row]:
    """Its rows with their turns' statuses, copies in forks last."""
    rows = connection.fetch(
        "SELECT i.*, t.status FROM (SELECT * FROM inbox"
        f" WHERE {HAS_ID}) AS i LEFT JOIN turns t ON t.id = i.turn"
        " ORDER BY i.copy_of IS NOT NULL, i.id DESC",
        {"message_id": message.message_id},
    )
    return [row for row in rows if _same_channel(row, message.key)]


def is_only_concern(connection: Connection, target: Target) -> bool:
    """True if its author is alone, and its turn about nothing else."""
    others = (
        "SELECT 1 FROM inbox WHERE thread = :thread AND id <> :inbox AND outcome <> 'refused'"
        " AND kind <> 'edit' AND (author <> :author OR turn = :turn AND kind = 'message') LIMIT 1"
    )
    own = {"inbox": target.inbox, "author": target.author}
    return not connection.fetch(others, {**own, "thread": target.thread, "turn": target.turn})


def _same_channel(row: Row, key: ConversationKey) -> bool:
    """True if the row's message and the key are of one channel.

    Platforms number messages per channel; a thread's first message stands outside of it.
    """
    found = ConversationKey.parse(row["conversation"])
    mine, theirs = (
        (each.platform, each.workspace, each.channel, each.root if each.is_local else "")
        for each in (found, key)
    )
    return mine == theirs


def is_new(connection: Connection, target: Target, message: InboundMessage) -> bool:
    """True if the message changes what is known of the target."""
    inbox, text = latest(connection, target)
    changed = text != message.text or _cards(connection, inbox) != _cards_of(message.quotes)
    if changed or message.keeps_files:
        return changed
    if message.awaited:
        return bool(_gone(connection, inbox, message.awaited))
    now = [hashlib.sha256(file.data).hexdigest() for file in message.attachments]
    return _files(connection, inbox) != sorted([*now, *(each.name for each in message.missing)])


def _cards(connection: Connection, inbox: int) -> list[str]:
    kept = scalar(connection, "SELECT quotes FROM inbox WHERE id = :inbox", {"inbox": inbox})
    return _cards_of(quotes_of(kept))


def _cards_of(quotes: Iterable[Quote]) -> list[str]:
    """The cards that an author made; what a platform adds is none."""
    return [quote.text for quote in quotes if quote.kind == "card"]


def is_overtaken(connection: Connection, target: Target, message: InboundMessage) -> bool:
    """True if a newer edit of the target came before this one."""
    if not message.order_key:
        return False
    query = "SELECT MAX(order_key) FROM inbox WHERE edits = :target AND kind = 'edit'"
    return (scalar(connection, query, {"target": target.inbox}) or "") > message.order_key


def _files(connection: Connection, inbox: int) -> list[str]:
    """Contents of a message's files, and the names of missing ones."""
    rows = connection.fetch(
        f"SELECT CASE WHEN {NOT_THERE} THEN name ELSE sha256 END AS file"
        " FROM attachments WHERE inbox = :inbox",
        {"inbox": inbox},
    )
    return sorted(row["file"] for row in rows)


def _gone(connection: Connection, inbox: int, files: Sequence[AwaitedFile]) -> list[int]:
    """The numbers of a message's files that are not among these."""
    left = Counter((file.name, file.size) for file in files)
    names = {file.name for file in files}
    gone: list[int] = []
    query = "SELECT n, name, size, media_type FROM attachments WHERE inbox = :inbox ORDER BY n"
    for row in connection.fetch(query, {"inbox": inbox}):
        file = (row["name"], row["size"])
        if row["media_type"] == LEFT_OUT:  # of which no size is known
            gone += [] if row["name"] in names else [row["n"]]
        elif left[file]:
            left[file] -= 1
        elif row["media_type"] != UNREAD_PART:
            gone.append(row["n"])
    return gone


def keep_files(connection: Connection, inbox: int, files: Sequence[AwaitedFile]) -> None:
    """Let a message keep only these files, and those being fetched."""
    connection.many(
        "DELETE FROM attachments WHERE inbox = :inbox AND n = :n",
        [{"inbox": inbox, "n": n} for n in _gone(connection, inbox, files)],
    )


def latest(connection: Connection, target: Target) -> tuple[int, str]:
    """The number and the text of what the target says by now."""
    edit = newest_edit(connection, target.inbox)
    return (target.inbox, target.text) if edit is None else (edit["id"], edit["text"])


def copy_files(connection: Connection, source: int, inbox: int) -> None:
    """Let an edit have the files of another message."""
    connection.execute(
        "INSERT INTO attachments (inbox, n, name, media_type, sha256, size, thread)"
        " SELECT :inbox, n, name, media_type, sha256, size, thread FROM attachments"
        " WHERE inbox = :source",
        {"inbox": inbox, "source": source},
    )
    connection.execute(
        f"UPDATE inbox SET untrusted = untrusted OR {IS_FOREIGN} WHERE id = :inbox",
        {"inbox": inbox},
    )


def replace_files(connection: Connection, target: Target, message: InboundMessage) -> None:
    """Give a waiting message this one's files; it awaits no more."""
    connection.execute("DELETE FROM attachments WHERE inbox = :inbox", {"inbox": target.inbox})
    update(connection, "inbox", target.inbox, awaits=None)
    attach(connection, target.inbox, message.attachments, message.missing)


def newest_edit(connection: Connection, target: int) -> Row | None:
    """The newest edit of the target that no turn has seen."""
    return first(
        connection,
        "SELECT * FROM inbox WHERE edits = :target AND kind = 'edit' AND text IS NOT NULL"
        " ORDER BY id DESC LIMIT 1",
        {"target": target},
    )


def repeat(connection: Connection, target: int, edit: Row, inbox: int) -> None:
    """Give the target's edited text to a new message."""
    update(connection, "inbox", inbox, edits=target, untrusted=edit["untrusted"])
    connection.execute(
        "UPDATE attachments SET inbox = :inbox WHERE inbox = :edit",
        {"inbox": inbox, "edit": edit["id"]},
    )
    forget_edits(connection, target)


def forget_edits(connection: Connection, target: int, *, but: int = 0) -> None:
    """Drop the target's edits except one: nobody will ask for them."""
    old = "(SELECT id FROM inbox WHERE edits = :target AND kind = 'edit' AND id <> :but)"
    which = {"target": target, "but": but}
    connection.execute(f"DELETE FROM attachments WHERE inbox IN {old}", which)
    connection.execute(f"UPDATE inbox SET text = NULL, quotes = '[]' WHERE id IN {old}", which)


def offer_again(connection: Connection, target: Target, offer: Offer) -> tuple[SessionEvent, ...]:
    """Offer, once, to run the target again as it is now."""
    offered = connection.change(
        "UPDATE inbox SET reason = 'offered' WHERE id = :inbox AND reason = ''"
        " AND thread IN (SELECT id FROM threads WHERE current)",
        {"inbox": target.inbox},
    )
    return make_offer(connection, replace(target, turn=""), offer) if offered else ()


def make_offer(connection: Connection, target: Target, offer: Offer) -> tuple[SessionEvent, ...]:
    """Offer people in the target's thread what may be done about it."""
    notice = Notice(
        thread=target.thread,
        turn=target.turn,
        text=offer.text,
        command=offer.command,
        label=offer.label,
    )
    return add_events(connection, target.thread, [notice])


def show_again(connection: Connection, target: Target) -> tuple[SessionEvent, ...]:
    """Show a waiting message as it is now."""
    (text,) = shown(connection, "id = :inbox", {"inbox": target.inbox})
    queued = MessageQueued(thread=target.thread, message=text)
    return add_events(connection, target.thread, [queued])
