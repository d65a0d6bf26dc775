"""Errors of chats between agents.

Exception
├── SenderRequired       a trigger by name, and no sender
└── InvalidCarryOverType carryover that is not text, or a message that cannot take it
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


SenderRequiredError = SenderRequired
InvalidCarryOverTypeError = InvalidCarryOverType
