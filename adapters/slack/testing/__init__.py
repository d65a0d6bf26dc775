"""A Slack workspace on this machine with scripted people and faults, for tests and plugins."""

from adapters.slack.simulator.clock import RealClock, VirtualClock
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.faults import (
    Delay,
    Fault,
    Garbled,
    Limited,
    Refused,
    Reset,
    ServerError,
    Truncated,
)
from adapters.slack.testing.people import Person
from adapters.slack.testing.shown import Shown
from adapters.slack.testing.simulator import SlackSimulator

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
