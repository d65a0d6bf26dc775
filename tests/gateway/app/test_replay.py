"""Events one by one, with their timing."""

from gateway.app.replay import LONGEST, Replay
from gateway.events import Notice, TurnStarted

NOON = 1_782_907_200.0


def test_each_line_has_the_time_since_the_event_before():
    replay = Replay("UTC")
    began = TurnStarted(thread="t", at=NOON, seq=1, turn="u")
    told = Notice(thread="t", at=NOON + 1.5, seq=2, text="Careful.\n\x1b[2Jnow")
    assert replay.line(began).split()[1:6] == ["12:00:00.000", "+0.000s", "1", "u", "turn_started"]
    line = replay.line(told)
    assert "+1.500s" in line
    assert line.endswith('text="Careful.\\n\\u001b[2Jnow" level="info"')


def test_a_long_event_is_cut():
    line = Replay("UTC").line(Notice(thread="t", at=NOON, seq=1, text="x" * 1000))
    assert line.endswith("x\u2026")
    assert line.count("x") < LONGEST
