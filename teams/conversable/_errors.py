"""Errors of chats between agents.

Exception
├── SenderRequired       a trigger by name, and no sender
├── InvalidCarryOverType carryover that is not text, or a message that cannot take it
├── NoEligibleSpeaker    a group whose transitions let nobody speak
├── AgentNameConflict    a name that several of a group have
└── UndefinedNextAgent   a next one among agents that are not in the group
"""

from __future__ import annotations


class SenderRequired(Exception):
    """A sender's name cannot be compared, as there is no sender."""

    def __init__(self, message: str = "Sender is required but not provided.") -> None:
        super().__init__(message)


class InvalidCarryOverType(Exception):
    """Carryover of another type than text or a list."""

    def __init__(
        self,
        message: str = (
            "Carryover should be a string or a list of strings. "
            "Not adding carryover to the message."
        ),
    ) -> None:
        super().__init__(message)


class NoEligibleSpeaker(Exception):
    """Nobody of a group may speak next."""

    def __init__(self, message: str = "No eligible speakers.") -> None:
        super().__init__(message)


class AgentNameConflict(Exception):
    """Several agents of a group have the name."""

    def __init__(self, message: str = "Found multiple agents with the same name.") -> None:
        super().__init__(message)


class UndefinedNextAgent(Exception):
    """None of the agents is in the group."""

    def __init__(
        self,
        message: str = "The provided agents list does not overlap with agents in the group.",
    ) -> None:
        super().__init__(message)


AgentNameConflictError = AgentNameConflict
NoEligibleSpeakerError = NoEligibleSpeaker
UndefinedNextAgentError = UndefinedNextAgent
SenderRequiredError = SenderRequired
InvalidCarryOverTypeError = InvalidCarryOverType
