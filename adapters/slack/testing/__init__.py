"""A simulated Slack with scripted people and faults, for tests and plugins."""

from adapters.slack.simulator.clock import RealClock, VirtualClock
from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.settings import AppSettings
from adapters.slack.simulator.world import HOME
from adapters.slack.testing.faults import (
    ConnectionReset,
    Delay,
    Fault,
    MalformedAnswer,
    Refusal,
    ServerError,
    TooManyRequests,
    TruncatedAnswer,
)
from adapters.slack.testing.people import Person
from adapters.slack.testing.rendered_message import RenderedMessage
from adapters.slack.testing.simulator import SlackSimulator

__all__ = [
    "HOME",
    "AppSettings",
    "ConnectionReset",
    "Delay",
    "Delivery",
    "Fault",
    "MalformedAnswer",
    "Person",
    "RealClock",
    "Refusal",
    "RenderedMessage",
    "ServerError",
    "SlackSimulator",
    "TooManyRequests",
    "TruncatedAnswer",
    "VirtualClock",
]
