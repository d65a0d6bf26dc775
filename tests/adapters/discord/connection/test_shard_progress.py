"""Events of a shard that are handled, and what is still owed."""

from __future__ import annotations

import math

from adapters.discord.connection.shard_progress import LATE, WAITED, SessionProgress, ShardProgress
from adapters.discord.connection.shard_state import DIRECT, ShardSession

READY = {"session_id": "s", "resume_gateway_url": "wss://x", "guilds": [{"id": "7"}]}


def progress() -> ShardProgress:
    found = ShardProgress(heard_at=100.0, since=100.0)
    found.reset(READY, 1, first=True)
    return found


def test_a_session_is_accepted_up_to_the_first_event_that_is_not() -> None:
    session = SessionProgress("s", "wss://x", received=9)
    assert session.accepted == 9
    session.open[1] = 7
    assert session.accepted == 6
    session.lost = 4
    assert session.accepted == 3


def test_a_new_connection_owes_what_happened_before() -> None:
    found = progress()
    assert found.owed == {"7": 100.0, DIRECT: 100.0}
    assert found.live
    state = found.state
    assert (state.heard, state.owed) == (100.0, found.owed)
    assert state.session == ShardSession(id="s", address="wss://x", sequence=1)


def test_frames_are_heard_unless_they_had_waited() -> None:
    found = progress()
    found.hear(110.0)
    assert (found.heard_at, found.taken_until) == (110.0, 110.0)
    found.hear(111.0 + LATE)
    assert found.heard_at == 110.0
    found.hear(112.0 + LATE + WAITED)
    assert found.heard_at == 112.0 + LATE + WAITED
    found.open[1] = 105.0
    assert found.taken_until == 105.0


def test_a_lost_connection_tells_nothing_of_now() -> None:
    found = progress()
    found.hear(110.0)
    found.lose()
    assert not found.live
    assert found.read_at == math.inf


def test_what_could_not_be_taken_is_left_to_the_next_connection() -> None:
    found = progress()
    found.hear(110.0)
    found.mark_lost(found.session, "MESSAGE_CREATE", 105.0, 1)
    assert found.taken_until == 105.0
    assert found.state.session is None
