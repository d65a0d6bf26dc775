"""Claude models, known by the parts of their names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from teams.models._types import ModelFamily, ModelInfo

_CURRENT = re.compile(r"claude-(?P<tier>[a-z]+)-(?P<major>\d)(-(?P<minor>\d{1,2}))?(?!\d)")
_EARLIER = re.compile(r"claude-(?P<major>\d)(-(?P<minor>\d{1,2}))?-(?P<tier>[a-z]+)")
_OLDEST = ("claude-instant", "claude-2")

_SHORT, _USUAL, _LONG = 100_000, 200_000, 1_000_000
_ANSWER, _LONG_ANSWER = 4_096, 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeModel:
    """The abilities of a model, and what its API takes.

    `formats`: it can be held to a JSON schema. `goes_on`: it continues an answer that the request
    ends with. `answer_tokens`: the longest answer, unless the settings say otherwise; the newest
    models think unasked, and the thinking counts.
    """

    family: str = ModelFamily.UNKNOWN
    context: int = _USUAL
    able: bool = True
    formats: bool = True
    goes_on: bool = False
    answer_tokens: int = _LONG_ANSWER

    def info(self) -> ModelInfo:
        return ModelInfo(
            vision=self.able,
            function_calling=self.able,
            json_output=True,
            family=self.family,
            structured_output=self.able,
            multiple_system_messages=False,
        )


def known_model(name: str) -> ClaudeModel | None:
    """The Claude of that name, on Bedrock too.

    A name that says no more than that is taken for a new model.
    """
    name = name.rpartition("anthropic.")[2]
    if not name.startswith("claude-"):
        return None
    if name.startswith(_OLDEST):
        context = _USUAL if name.startswith("claude-2.1") else _SHORT
        return ClaudeModel(
            context=context, able=False, formats=False, goes_on=True, answer_tokens=_ANSWER
        )
    parts = _CURRENT.match(name) or _EARLIER.match(name)
    if parts is None:
        return ClaudeModel(family="claude-unknown")
    return _of_version(parts["tier"], int(parts["major"]), int(parts["minor"] or 0))


def _of_version(tier: str, major: int, minor: int) -> ClaudeModel:
    version = (major, minor)
    named = f"{major}-{minor}" if minor and major == 3 else f"{major}"  # noqa: PLR2004
    earlier = version < (4, 6)
    return ClaudeModel(
        family=f"claude-{named}-{tier}",
        context=_LONG if major > 4 and tier != "haiku" else _USUAL,  # noqa: PLR2004
        formats=version >= (4, 5),
        goes_on=earlier,
        answer_tokens=_ANSWER if earlier else _LONG_ANSWER,
    )
