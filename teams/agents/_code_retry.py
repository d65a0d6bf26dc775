"""Whether code that failed is worth another attempt: how a model is asked, and its answer."""

from __future__ import annotations

from pydantic import BaseModel

from teams._base.json_text import extract_json_from_str

CONSIDER = """\
The code failed, see the result above. You have {left} left. Is another one worth it? Answer with \
a JSON object: `retry`, true or false, and `reason`, what went wrong and what has to be done \
differently."""


class RetryDecision(BaseModel, defer_build=True):
    """The model's decision, and why."""

    reason: str
    retry: bool


def consider_prompt(left: int) -> str:
    """What the model is asked with so many attempts left."""
    return CONSIDER.format(left="one more attempt" if left == 1 else f"{left} more attempts")


def read_decision(answer: str) -> RetryDecision:
    """The decision; an answer that is none is taken as a no."""
    try:
        return RetryDecision.model_validate(extract_json_from_str(answer)[-1])
    except ValueError:
        return RetryDecision(reason=answer, retry=False)
