"""Component JSON as AutoGen 0.7.5 and its Studio load it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, cast

from teams._components.providers import autogen_provider, resolve_provider

# Fields with fewer values there.
_FEWER: Mapping[str, tuple[str, ...]] = {"reasoning_effort": ("minimal", "low", "medium", "high")}

# AutoGen names these kinds otherwise.
_TYPES: Mapping[str, str] = {
    "teams.models.cache.ChatCompletionCache": "chat_completion_cache",
    "teams.models.replay.ReplayChatCompletionClient": "replay_chat_completion_client",
}

# Fields that have to be there, even if they are None.
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "teams.conditions.TokenUsageTermination": (
        "max_total_token",
        "max_prompt_token",
        "max_completion_token",
    ),
}

_SECRETS = (
    *("api_key", "azure_ad_token"),
    *("aws_access_key", "aws_secret_key", "aws_session_token"),
)
_BEDROCK = "teams.models.anthropic.AnthropicBedrockChatCompletionClient"
_NO_KEYS = ("aws_access_key", "aws_secret_key", "aws_session_token")
"""Fields that have to be there; empty, they leave the credentials to AWS's own chain."""
_AUTO = "teams.model_context.AutoChatCompletionContext"
_UNBOUNDED = "teams.model_context.UnboundedChatCompletionContext"
_DOCKER = "teams.code_executors.docker.DockerCommandLineCodeExecutor"


def autogen_form(component: Mapping[str, Any]) -> dict[str, Any]:
    """The dumped component with AutoGen's provider names and fields alone.

    Raises NotImplementedError with all that has no counterpart there.
    """
    writer = _Writer()
    written = writer.component(component, "")
    if writer.missing:
        listed = "".join(f"\n  {each}" for each in writer.missing)
        raise NotImplementedError(f"AutoGen 0.7.5 has no counterpart of:{listed}")
    for note in writer.notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    return written


class _Writer:
    """One walk through a component, and what it found without a counterpart."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.notes: list[str] = []

    def component(self, form: Mapping[str, Any], path: str) -> dict[str, Any]:
        provider = form["provider"]
        place = path or "the component"
        if provider == _AUTO:
            self.notes.append(f"{place}: AutoGen's model is sent all messages, without a summary.")
            first = form["config"].get("initial_messages")
            provider, form = _UNBOUNDED, {**form, "config": {"initial_messages": first}}
        if (theirs := autogen_provider(provider)) is None:
            self.missing.append(f"{place}: {provider}")
            return {}
        if provider == _DOCKER:
            self.notes.append(
                f"{place}: AutoGen's container has a network and no limits of memory and processes."
            )
        kind = _TYPES.get(provider, form.get("component_type"))
        config = dict(self._fields(provider, form["config"], path))
        config |= {field: None for field in _REQUIRED.get(provider, ()) if field not in config}
        if provider == _BEDROCK:
            config["bedrock_info"] = dict.fromkeys(_NO_KEYS, "") | config["bedrock_info"]
        return {
            **form,
            "provider": theirs,
            "component_type": kind,
            "version": form["component_version"],
            "config": config,
        }

    def _fields(
        self, provider: str, config: Mapping[str, Any], path: str
    ) -> Iterator[tuple[str, Any]]:
        ours: Mapping[str, object] = resolve_provider(provider).component_only_ours
        name = provider.rpartition(".")[2]
        for field, value in config.items():
            place = f"{path}.{field}" if path else field
            if field in _FEWER and value not in _FEWER[field]:
                self.missing.append(f"{place} = {value!r} ({name})")
            elif field in ours:
                if value != ours[field]:
                    self.missing.append(f"{place} ({name})")
            elif not (field in _SECRETS and _is_masked(value)):
                yield field, self._value(value, place)

    def _value(self, value: Any, path: str) -> Any:
        match value:
            case {"provider": str(), "config": dict()}:
                return self.component(cast("dict[str, Any]", value), path)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {
                    key: self._value(item, f"{path}.{key}")
                    for key, item in items
                    if not (key in _SECRETS and _is_masked(item))
                }
            case list():
                items = cast("list[Any]", value)
                return [self._value(item, f"{path}[{at}]") for at, item in enumerate(items)]
            case _:
                return value


def _is_masked(value: Any) -> bool:
    """True for the stars of a secret."""
    return isinstance(value, str) and value != "" and not value.strip("*")
