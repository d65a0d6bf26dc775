"""Checks for model clients, for those who write one.

`CHECKS` are coroutine functions. `perform` runs one of them on a `Subject`: a client, and the
scripted server that answers it over the provider's own protocol.
"""

from teams.testing._answers import ANSWERS
from teams.testing._failures import FAILURES
from teams.testing._laws import LAWS
from teams.testing._requests import REQUESTS
from teams.testing._script import (
    Answer,
    ModelServer,
    Refuse,
    SaidCall,
    Say,
    SeenRequest,
    SeenResult,
    Stop,
)
from teams.testing._subject import Check, NotOffered, Subject, perform

CHECKS: tuple[Check, ...] = (*ANSWERS, *REQUESTS, *LAWS, *FAILURES)
"""Every check, in the order of the documentation."""

__all__ = [
    "CHECKS",
    "Answer",
    "Check",
    "ModelServer",
    "NotOffered",
    "Refuse",
    "SaidCall",
    "Say",
    "SeenRequest",
    "SeenResult",
    "Stop",
    "Subject",
    "perform",
]
