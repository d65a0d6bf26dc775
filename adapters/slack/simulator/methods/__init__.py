"""The methods of the Web API, registered on import."""

from adapters.slack.simulator.call import METHODS
from adapters.slack.simulator.methods import (
    agents,
    auth,
    chat,
    conversations,
    files,
    lookups,
    streams,
    views,
)

__all__ = [
    "METHODS",
    "agents",
    "auth",
    "chat",
    "conversations",
    "files",
    "lookups",
    "streams",
    "views",
]
