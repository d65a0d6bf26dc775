"""Teams whose turns are watched."""

from typing import Any

from teams import RoundRobinGroupChat
from tests.fakes.agents import Talker


def pair(**options: Any) -> tuple[RoundRobinGroupChat, Talker, Talker]:
    left, right = Talker("left", "l1", "l2", "l3"), Talker("right", "r1", "r2", "r3")
    return RoundRobinGroupChat([left, right], **options), left, right
