"""Models that are known by the name before their tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from teams.models._types import ModelFamily, ModelInfo

_TOOLS, _VISION = "tools", "vision"


class KnownModel(NamedTuple):
    """Abilities of a model.

    `context` is in tokens, None if it is not known.
    """

    info: ModelInfo
    context: int | None


_KNOWN: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "command-r": (131_072, (_TOOLS,)),
    "deepseek-r1": (131_072, ()),
    "llama3": (8_192, (_TOOLS,)),
    "llama3.1": (131_072, (_TOOLS,)),
    "llama3.2": (131_072, (_TOOLS,)),
    "llama3.2-vision": (131_072, (_VISION,)),
    "llama3.3": (131_072, (_TOOLS,)),
    "llava": (32_768, (_VISION,)),
    "llava-llama3": (8_192, (_VISION,)),
    "mistral": (32_768, (_TOOLS,)),
    "mistral-nemo": (131_072, (_TOOLS,)),
    "mixtral": (32_768, (_TOOLS,)),
    "qwen2": (32_768, (_TOOLS,)),
    "qwen2.5": (32_768, (_TOOLS,)),
    "qwen2.5-coder": (32_768, (_TOOLS,)),
    "qwen2.5vl": (128_000, (_VISION,)),
    "qwen3": (40_960, (_TOOLS,)),
}


def known_model(model: str) -> KnownModel | None:
    """The model of that name, whatever its tag."""
    if (known := _KNOWN.get(model.partition(":")[0])) is None:
        return None
    return KnownModel(_info(model, known[1]), known[0])


def told_model(model: str, told: Any = None) -> KnownModel:
    """The model as `POST /api/show` tells of it.

    One that nothing is told of can do everything; releases before 0.6.4 tell of no abilities.
    """
    facts = cast("dict[str, Any]", told if isinstance(told, dict) else {})
    details = cast("dict[str, Any]", facts.get("model_info") or {})
    lengths = (value for name, value in details.items() if name.endswith(".context_length"))
    return KnownModel(
        _info(model, facts.get("capabilities", (_TOOLS, _VISION))), next(lengths, None)
    )


def _info(model: str, abilities: Any) -> ModelInfo:
    thinks = model.rpartition("/")[2].startswith("deepseek-r1")
    return ModelInfo(
        vision=_VISION in abilities,
        function_calling=_TOOLS in abilities,
        json_output=True,  # Ollama itself sees to it
        structured_output=True,
        family=ModelFamily.R1 if thinks else ModelFamily.UNKNOWN,
        multiple_system_messages=True,
    )
