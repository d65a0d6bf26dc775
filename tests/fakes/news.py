"""News of events, as the picture of their thread tells them."""

from collections.abc import Iterable, Iterator

from gateway.events import SessionEvent
from gateway.items import News
from gateway.picture import Picture


def news_of(events: Iterable[SessionEvent]) -> Iterator[News]:
    """All news of these events, in order."""
    picture = Picture()
    for event in events:
        picture.apply(event)
        yield from picture.news


def apply_all(picture: Picture, events: Iterable[SessionEvent]) -> None:
    """Let a picture take several events in."""
    for event in events:
        picture.apply(event)
