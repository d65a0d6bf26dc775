"""The methods of the Web API by family; importing this fills the table of methods."""

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
