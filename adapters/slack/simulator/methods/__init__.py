"""The methods of the Web API by family. Reading them fills their table."""

from adapters.slack.simulator.call import METHODS
from adapters.slack.simulator.methods import (
    agents,
    auth,
    chat,
    conversations,
    files,
    reactions,
    streams,
    users,
    views,
)

__all__ = [
    "METHODS",
    "agents",
    "auth",
    "chat",
    "conversations",
    "files",
    "reactions",
    "streams",
    "users",
    "views",
]
