"""A thread's messages on its platform, and the steps that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gateway.base.clock import Clock
from gateway.delivery.items import (
    DesiredMessage,
    FileItem,
    Item,
    LineItem,
    SpeechItem,
    desired_messages,
    key_of,
)
from gateway.outbox import OutboxRow
from gateway.surface import (
    Content,
    EditSurface,
    OpeningSurface,
    Place,
    Speech,
    TextSurface,
    Use,
    offers,
)

GENERATIONS = 2
"""Number of times that a message is written, in all, if it can't be edited any more."""
OPENING = 1.0
"""Seconds after which a text begins as it is: its model may say nothing for long."""
SCARCE = 30.0
"""Seconds for which a text is held that may still be posted whole, where few edits are left."""
DELETED = "a person deleted it"
"""Reason of a message that is not shown again, nor what would follow in the same item."""


@dataclass(frozen=True, slots=True)
class Step:
    """An action on `part` of `item`; `row` is its message, if any."""

    item: Item
    part: DesiredMessage
    row: OutboxRow | None

    @property
    def is_edit(self) -> bool:
        """Its message stands there and says something else."""
        return self.row is not None and self.row.status == "delivered"

    @property
    def use(self) -> Use:
        """The purpose of its call."""
        return self.part.use if self.is_edit or self.part.use == "card" else "post"

    @property
    def can_wait(self) -> bool:
        """It is only one more piece of a text that grows."""
        return self.is_edit and not self.part.lasting


class PostedMessages:
    """The thread's messages. `rows` are what the outbox knows.

    What stands there of items up to `doubtful` is newer than what is known, unless that is whole.
    """

    def __init__(
        self,
        surface: TextSurface,
        place: Place,
        rows: Iterable[OutboxRow],
        clock: Clock,
        *,
        doubtful: int = 0,
    ) -> None:
        self._clock = clock
        self._surface = surface
        self._doubtful = doubtful
        self.place = place
        """Where new ones go."""
        self._edits = offers(surface, EditSurface)
        self._rows: dict[str, dict[int, OutboxRow]] = {}
        self._texts: dict[str, str] = {}
        self._held: dict[str, tuple[float, float]] = {}
        """Items whose text can't begin yet, since when, and for how long at most."""
        for row in rows:
            self.put(row)

    @property
    def messages(self) -> set[str]:
        """The platform's ids of all that stands there."""
        return {row.message for rows in self._rows.values() for row in rows.values()} - {""}

    def of(self, item: Item) -> Mapping[int, OutboxRow]:
        """The messages of an item by their number."""
        return self._rows.get(item.id, {})

    def put(self, row: OutboxRow) -> None:
        """Note how a message stands."""
        self._rows.setdefault(row.item, {})[row.n] = row
        self._held.pop(row.item, None)

    def note_sent(self, row: OutboxRow, part: DesiredMessage) -> None:
        """Note that a message shows this part, if it does."""
        if isinstance(part.content, Speech) and row.digest == part.digest and not part.lasting:
            self._texts[row.key] = part.content.text
        else:
            self._texts.pop(row.key, None)

    def forget(self, told: int) -> None:
        """Forget what began up to this seq, except open questions."""
        self._rows = {
            item: rows
            for item, rows in self._rows.items()
            if any(row.seq > told or row.open for row in rows.values())
        }

    def steps(self, item: Item) -> list[Step]:
        """The actions that an item needs now."""
        steps = self._all_steps(item)
        return [step for step in steps if not self._is_settled(step) and self._is_worth_it(step)]

    def first_new(self, items: Iterable[Item]) -> Step | None:
        """The first message to post; None if its item edits one before."""
        for item in items:
            steps = self.steps(item)
            if any(not step.is_edit for step in steps):
                return None if steps[0].is_edit else steps[0]
        return None

    def failed_steps(self, item: Item) -> list[Step]:
        """The parts of an item that will never arrive."""
        if all(row.status != "failed" for row in self.of(item).values()):
            return []
        steps = self._all_steps(item)
        return [step for step in steps if step.row is not None and step.row.status == "failed"]

    def _all_steps(self, item: Item) -> list[Step]:
        rows = self.of(item)
        if any(row.status == "failed" and row.reason == DELETED for row in rows.values()):
            return []
        parts = desired_messages(item, self._surface, rows)
        return [Step(item, part, rows.get(part.n)) for part in parts]

    def new_row(self, item: Item, n: int, now: float, generation: int = 0) -> OutboxRow:
        """The row of a message that was not attempted yet."""
        return OutboxRow(
            key=key_of(self.place.thread, item.id, n, generation),
            thread=self.place.thread,
            place=str(item.place or self.place.key),
            item=item.id,
            n=n,
            seq=item.seq,
            status="pending",
            first_at=now,
            at=now,
            generation=generation,
        )

    def closed_row(self, step: Step, shown: str) -> OutboxRow:
        """The step's message, closed with this text: the next one continues."""
        assert step.row is not None
        part = step.part if step.row.closed else step.part.closed_after(shown)
        return replace(
            step.row,
            first=part.first,
            last=part.last,
            body=part.body,
            digest=part.digest,
            closed=True,
        )

    def row_after_loss(self, step: Step, now: float, *, deleted: bool) -> OutboxRow:
        """The step's message that can't be edited: to write again, or failed."""
        assert step.row is not None
        if deleted:
            return replace(step.row, status="failed", reason=DELETED)
        generation = step.row.generation + 1
        if generation >= GENERATIONS:
            return replace(step.row, status="failed", reason="it was removed")
        return self.new_row(step.item, step.part.n, now, generation)

    def text_if_too_old(self, row: OutboxRow, part: DesiredMessage, now: float) -> str | None:
        """The text of a message too old to edit; None otherwise."""
        within = self._surface.limits.edit_within
        if part.left_over or within is None or not isinstance(part.content, Speech):
            return None
        if now - row.at <= within:
            return None
        return self._texts.get(row.key)

    def _is_settled(self, step: Step) -> bool:
        row, part, item = step.row, step.part, step.item
        if row is None or row.status in ("pending", "attempting"):
            return False
        newer = row.seq <= self._doubtful and not (isinstance(item, SpeechItem) and item.whole)
        stays = newer or not self._edits or isinstance(item, FileItem) or row.status == "failed"
        return stays or row.digest == part.digest or (row.closed and not part.lasting)

    def _is_worth_it(self, step: Step) -> bool:
        """True if a missing message is to be written now."""
        row, item, part = step.row, step.item, step.part
        if row is not None and row.status != "pending":
            return True
        if not part.needed or (isinstance(item, SpeechItem) and item.resuming):
            return False
        if isinstance(item, LineItem) and item.below and item.below not in self._rows:
            return False
        return part.lasting or (self._edits and self._begins(item, part.content))

    def _begins(self, item: Item, content: Content) -> bool:
        surface = self._surface
        if not offers(surface, OpeningSurface) or not isinstance(content, Speech):
            return True
        now = self._clock.time()
        scarce = surface.short_of_edits(self.place)
        if not scarce and surface.begins(self.place, content):
            self._held.pop(item.id, None)
            return True
        since, _ = self._held.setdefault(item.id, (now, OPENING))
        self._held[item.id] = since, SCARCE if scarce else OPENING
        return _left(self._held[item.id], now) <= 0

    def wait_to_begin(self, looked_at: float) -> float | None:
        """Seconds until a text begins that could not then; None without one."""
        left = [_left(held, looked_at) for held in self._held.values()]
        return min((each for each in left if each > 0), default=None)


def _left(held: tuple[float, float], now: float) -> float:
    """Seconds for which a text is held, however the clock is set."""
    since, most = held
    return most - abs(now - since)
