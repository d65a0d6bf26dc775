"""Titles of agents' sessions: desired ones, and those on display.

Pure decisions; `thread_status` makes the calls. A title from a thread's first message is set where
Slack's own answer says that there is none, or one of ours: people rename sessions at any time, and
not every app hears of it. A title that a person gives replaces any.
"""

from __future__ import annotations

from dataclasses import dataclass

from adapters.bounded_cache import BoundedCache
from gateway.conversation import ConversationKey
from gateway.surface import Place

REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class DesiredTitle:
    """A title that a session should have.

    `given` by a person; `compared` with the title that Slack said it has.
    """

    place: Place
    text: str
    given: bool
    compared: bool = False


@dataclass(frozen=True, slots=True)
class _Shown:
    """The title of a session; `ours` comes from a first message."""

    text: str
    ours: bool


class SessionTitles:
    """Desired titles, and those that sessions have."""

    def __init__(self) -> None:
        self._desired: dict[str, DesiredTitle] = {}
        self._shown = BoundedCache[str, _Shown](REMEMBERED)

    def desire(self, place: Place, text: str, *, given: bool) -> bool:
        """Note a title; True if it can be set at once."""
        name = str(place.key)
        shown = self._shown.get(name)
        if shown is not None and shown.text == text:
            self._desired.pop(name, None)
            return False
        self._desired[name] = DesiredTitle(place=place, text=text, given=given)
        return given

    def desired(self, place: Place) -> DesiredTitle | None:
        """The title that the place's session should get."""
        return self._desired.get(str(place.key))

    @property
    def all_desired(self) -> list[DesiredTitle]:
        """All titles that are still to be set."""
        return [*self._desired.values()]

    def drop(self, title: DesiredTitle) -> None:
        """Forget a title that was set or refused."""
        if self.desired(title.place) is title:
            del self._desired[str(title.place.key)]

    def knows(self, place: Place) -> bool:
        """True if the place is known to have a session."""
        return self._shown.get(str(place.key)) is not None

    def is_due(self, title: DesiredTitle) -> bool:
        """True if a session should be renamed now."""
        known = self.knows(title.place)
        return self.desired(title.place) is title and (title.compared or (title.given and known))

    def compare(self, place: Place, sent: DesiredTitle | None, text: str) -> bool:
        """Note the title that Slack shows; True if another is due.

        `sent` went along with the question, for a session that is made by it.
        """
        name, before = str(place.key), self._shown.get(str(place.key))
        as_sent = sent is not None and sent.text == text and not sent.given
        shown = _Shown(text, as_sent or before == _Shown(text, ours=True))
        self._shown.put(name, shown)
        title = self._desired.get(name)
        if title is None:
            return False
        if title.text == text or (text and not shown.ours and not title.given):
            del self._desired[name]
            return False
        title.compared = True
        return True

    def note_set(self, title: DesiredTitle) -> None:
        """Note that a session was renamed."""
        self._shown.put(str(title.place.key), _Shown(title.text, ours=not title.given))

    def note_given(self, key: ConversationKey, text: str) -> None:
        """Note the title that somebody gave in Slack; it is the newest."""
        self._shown.put(str(key), _Shown(text, ours=False))
        self._desired.pop(str(key), None)
