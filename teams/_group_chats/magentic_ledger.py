"""The progress ledger of a MagenticOneGroupChat, and its parser."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import BaseModel, ValidationError

from teams._base.json_text import extract_json_from_str


class Verdict(BaseModel, defer_build=True):
    """A question that is answered by yes or no."""

    reason: str
    answer: bool


class Statement(BaseModel, defer_build=True):
    """A question that is answered by a text."""

    reason: str
    answer: str


class ProgressLedger(BaseModel, defer_build=True):
    """Where the work stands, and what comes next."""

    is_request_satisfied: Verdict
    is_in_loop: Verdict
    is_progress_being_made: Verdict
    next_speaker: Statement
    instruction_or_question: Statement

    @property
    def is_stalled(self) -> bool:
        """True if the last round made no progress."""
        return self.is_in_loop.answer or not self.is_progress_being_made.answer


def read_ledger(text: str, names: Collection[str]) -> ProgressLedger:
    """The ledger in a model's answer.

    Raises ValueError, in words for the model, where there is none or where it names somebody as the
    next speaker who does not take part.
    """
    objects = extract_json_from_str(text)
    try:
        ledger = ProgressLedger.model_validate(objects[-1])
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, entry['loc']))}: {entry['msg']}" for entry in error.errors()
        )
        raise ValueError(f"The JSON has the wrong form: {'; '.join(problems)}.") from error
    ledger.next_speaker.answer = ledger.next_speaker.answer.strip()
    if not ledger.is_request_satisfied.answer and ledger.next_speaker.answer not in names:
        raise ValueError(
            f"next_speaker is {ledger.next_speaker.answer!r}, who is not in the team. "
            f"Choose one of: {', '.join(names)}."
        )
    return ledger
