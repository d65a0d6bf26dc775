"""All that tests' served processes load, with clocks that can move.

They are forked from a process that has imported this: a start takes a third of the CPU.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module

from tests.chaos.campaign.child import move_time
from tests.chaos.campaign.clock import AHEAD

MODULES = (
    "gateway.app.serve",
    "gateway.cli",
    "gateway.store.postgres.store",
    "adapters.discord.adapter",
    "adapters.slack.adapter",
    "teams.models.openai",
    "tests.adapters.discord.child",
    "tests.adapters.slack.child",
    "tests.adapters.slack.pause_child",
    "tests.chaos.load",
    "tests.gateway.delivery.child",
)
with tempfile.TemporaryFile() as told:
    TOLD = os.dup(told.fileno())
    """Descriptor of the file with the time that is ahead: a node puts its own in the place."""
os.pwrite(TOLD, AHEAD.pack(0.0), 0)
move_time(TOLD)
for each in MODULES:
    import_module(each)
