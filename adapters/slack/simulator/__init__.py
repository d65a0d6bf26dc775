"""A Slack workspace on this machine, for trying a team without one and for tests."""

from adapters.slack.simulator.clock import RealClock, VirtualClock
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.faults import (
    Delay,
    Fault,
    Garbled,
    Limited,
    Refused,
    Reset,
    ServerError,
    Truncated,
)
from adapters.slack.simulator.people import Person
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.shown import Shown
from adapters.slack.simulator.simulator import SlackSimulator
from adapters.slack.simulator.world import HOME

__all__ = [
    "HOME",
    "AppSettings",
    "Delay",
    "Delivery",
    "Fault",
    "Garbled",
    "Limited",
    "Person",
    "RealClock",
    "Refused",
    "Reset",
    "ServerError",
    "Shown",
    "SlackSimulator",
    "Truncated",
    "VirtualClock",
]
