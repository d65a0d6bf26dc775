"""Known models by name: family, abilities and context length."""

from __future__ import annotations

from dataclasses import dataclass

from teams.models._types import ModelFamily, ModelInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model known by the beginning of its name; `context` in tokens."""

    prefix: str
    family: str
    context: int
    vision: bool = True
    tools: bool = True
    json: bool = True
    structured: bool = True
    many_system_messages: bool = True

    def info(self) -> ModelInfo:
        return ModelInfo(
            vision=self.vision,
            function_calling=self.tools,
            json_output=self.json,
            family=self.family,
            structured_output=self.structured,
            multiple_system_messages=self.many_system_messages,
        )


def _gemini(prefix: str, family: str, context: int = 1_048_576) -> KnownModel:
    return KnownModel(prefix=prefix, family=family, context=context, many_system_messages=False)


def _claude(prefix: str, family: str) -> KnownModel:
    return KnownModel(
        prefix=prefix, family=family, context=200_000, structured=False, many_system_messages=False
    )


def _llama(prefix: str, family: str, *, vision: bool) -> KnownModel:
    return KnownModel(prefix=prefix, family=family, context=128_000, vision=vision)


_MODELS = (
    KnownModel(prefix="gpt-5", family=ModelFamily.GPT_5, context=400_000),
    KnownModel(prefix="gpt-4.1", family=ModelFamily.GPT_41, context=1_047_576),
    KnownModel(prefix="gpt-4.5", family=ModelFamily.GPT_45, context=128_000),
    KnownModel(prefix="gpt-4o", family=ModelFamily.GPT_4O, context=128_000),
    KnownModel(prefix="chatgpt-4o", family=ModelFamily.GPT_4O, context=128_000, tools=False),
    KnownModel(prefix="gpt-4-turbo", family=ModelFamily.GPT_4, context=128_000, structured=False),
    KnownModel(
        prefix="gpt-4", family=ModelFamily.GPT_4, context=8_192, vision=False, structured=False
    ),
    KnownModel(
        prefix="gpt-3.5-turbo",
        family=ModelFamily.GPT_35,
        context=16_385,
        vision=False,
        structured=False,
    ),
    KnownModel(prefix="o4-mini", family=ModelFamily.O4, context=200_000),
    KnownModel(prefix="o3-mini", family=ModelFamily.O3, context=200_000, vision=False),
    KnownModel(prefix="o3", family=ModelFamily.O3, context=200_000),
    KnownModel(
        prefix="o1-mini",
        family=ModelFamily.O1,
        context=128_000,
        vision=False,
        tools=False,
        json=False,
        structured=False,
    ),
    KnownModel(prefix="o1", family=ModelFamily.O1, context=200_000),
    _gemini("gemini-1.5-flash", ModelFamily.GEMINI_1_5_FLASH),
    _gemini("gemini-1.5-pro", ModelFamily.GEMINI_1_5_PRO, 2_097_152),
    _gemini("gemini-2.0-flash", ModelFamily.GEMINI_2_0_FLASH),
    _gemini("gemini-2.5-flash", ModelFamily.GEMINI_2_5_FLASH),
    _gemini("gemini-2.5-pro", ModelFamily.GEMINI_2_5_PRO),
    _claude("claude-3-haiku", ModelFamily.CLAUDE_3_HAIKU),
    _claude("claude-3-sonnet", ModelFamily.CLAUDE_3_SONNET),
    _claude("claude-3-opus", ModelFamily.CLAUDE_3_OPUS),
    _claude("claude-3-5-haiku", ModelFamily.CLAUDE_3_5_HAIKU),
    _claude("claude-3-5-sonnet", ModelFamily.CLAUDE_3_5_SONNET),
    _claude("claude-3-7-sonnet", ModelFamily.CLAUDE_3_7_SONNET),
    _claude("claude-sonnet-4", ModelFamily.CLAUDE_4_SONNET),
    _claude("claude-opus-4", ModelFamily.CLAUDE_4_OPUS),
    _claude("claude-4-sonnet", ModelFamily.CLAUDE_4_SONNET),
    _claude("claude-4-opus", ModelFamily.CLAUDE_4_OPUS),
    _llama("Llama-3.3-8B", ModelFamily.LLAMA_3_3_8B, vision=False),
    _llama("Llama-3.3-70B", ModelFamily.LLAMA_3_3_70B, vision=False),
    _llama("Llama-4-Scout", ModelFamily.LLAMA_4_SCOUT, vision=True),
    _llama("Llama-4-Maverick", ModelFamily.LLAMA_4_MAVERICK, vision=True),
    _llama("llama-4-scout", ModelFamily.LLAMA_4_SCOUT, vision=True),
    _llama("llama-4-maverick", ModelFamily.LLAMA_4_MAVERICK, vision=True),
)


def known_model(name: str) -> KnownModel | None:
    """The entry with the longest prefix of `name`, at a word's end."""
    fitting = [model for model in _MODELS if _has_prefix(name, model.prefix)]
    return max(fitting, key=lambda model: len(model.prefix), default=None)


def _has_prefix(name: str, prefix: str) -> bool:
    # "gpt-4" is not the beginning of "gpt-4o", but of "gpt-4-0613".
    return name == prefix or name.startswith((f"{prefix}-", f"{prefix}."))
