"""LLMConfig: checked settings of models, and a default for new agents."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self, cast

from teams.conversable._model_config import CONNECTION, config_list_from_json, filter_config
from teams.conversable._protocols import Given, Settings

_SHARED_KEYS = (
    "temperature top_p max_tokens seed response_format tools functions parallel_tool_calls "
    "cache_seed timeout check_every_ms allow_format_str_template filter_func"
)
"""Settings that stand beside the entries."""

_ENTRY_KEYS = (
    "api_type price tags model_client_cls stream tool_choice voice n stop user store metadata "
    "logprobs top_logprobs logit_bias presence_penalty frequency_penalty extra_query verbose "
    "max_completion_tokens reasoning_effort service_tier modalities audio prediction verbosity "
    "extra_body extra_headers stream_options stop_sequences top_k thinking hide_tools"
)
_SHARED = frozenset(_SHARED_KEYS.split())
_KNOWN = _SHARED | frozenset(_ENTRY_KEYS.split()) | CONNECTION
_MASKED = frozenset(each for each in CONNECTION if "key" in each or "token" in each)
"""Settings whose value is not printed."""

_CURRENT: ContextVar[tuple[LLMConfig, ...]] = ContextVar("teams_llm_configs", default=())


class _Fields(dict[str, Any]):
    """A dict whose values are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={_shown(k, self[k])}' for k in self)})"


def _shown(key: str, value: object) -> str:
    return "'**********'" if key in _MASKED else repr(value)


class LLMConfigEntry(_Fields):
    """Settings of one model."""


class _WithCurrent(type):
    @property
    def current(cls) -> LLMConfig:
        """The config whose block this is; ValueError outside of one."""
        if not _CURRENT.get():
            raise ValueError("No current LLMConfig set. Are you inside a context block?")
        return _CURRENT.get()[-1]

    default = current


class LLMConfig(_Fields, metaclass=_WithCurrent):
    """Models to ask in order, with settings for all of them.

    It is a dict as `llm_config` takes it. Agents that are made in `with llm_config:` and given no
    config of their own have this one. Raises ValueError for a setting that no model knows, and for
    an entry without model.

    Args:
        kwargs: `config_list` with an entry for each model, or the settings of one model.
    """

    def __init__(self, **kwargs: Any) -> None:
        listed = kwargs.pop("config_list", None)
        shared = {key: value for key, value in kwargs.items() if key in _SHARED}
        own = {key: value for key, value in kwargs.items() if key not in _SHARED}
        if listed is None:
            listed, own = [own], {}
        _check(own)
        entries = [_entry(each) for each in cast("Sequence[Given]", listed)]
        if not entries:
            raise ValueError("config_list is empty: LLMConfig needs at least one model.")
        super().__init__(**shared, **own, config_list=entries)

    def __enter__(self) -> Self:
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])

    def where(self, *, exclude: bool = False, **filters: Any) -> LLMConfig:
        """The config of the models that fit.

        With `exclude`, of the others. ValueError if none is left.
        """
        accepted: dict[str, list[Any]] = {
            key: list(value) if isinstance(value, list | tuple | set) else [value]  # pyright: ignore[reportUnknownArgumentType]
            for key, value in filters.items()
        }
        entries = filter_config(self["config_list"], accepted, exclude)
        if not entries:
            raise ValueError(f"No config found that satisfies the filter criteria: {filters}")
        return LLMConfig(**{**self, "config_list": entries})

    @classmethod
    def from_json(
        cls,
        *,
        env: str | None = None,
        path: str | Path | None = None,
        file_location: str | None = None,
        **kwargs: Any,
    ) -> LLMConfig:
        """A config whose entries an environment variable or a file holds."""
        if (env is None) == (path is None):
            raise ValueError("Give either 'env' or 'path'.")
        entries = config_list_from_json(str(env or path), file_location)
        return cls(config_list=entries, **kwargs)

    @classmethod
    def get_current_llm_config(cls, llm_config: LLMConfig | None = None) -> LLMConfig | None:
        """The given config, else that of the block, if any."""
        known = _CURRENT.get()
        return llm_config or (known[-1] if known else None)

    def copy(self) -> LLMConfig:
        """A config with the same values."""
        return self.deepcopy()

    def deepcopy(self) -> LLMConfig:
        """A config of its own."""
        return copy.deepcopy(self)

    def model_dump(self) -> Settings:
        """The settings as plain dicts."""
        entries = [dict(each) for each in self["config_list"]]
        return copy.deepcopy({**self, "config_list": entries})

    def model_dump_json(self) -> str:
        """The settings as JSON text."""
        return json.dumps(self)


def _entry(given: Mapping[str, Any]) -> LLMConfigEntry:
    _check(given)
    if not given.get("model"):
        raise ValueError("An entry of the config_list has no 'model'.")
    return LLMConfigEntry({"api_type": "openai", **given, "tags": [*(given.get("tags") or ())]})


def _check(given: Given) -> None:
    if unknown := sorted(given.keys() - _KNOWN):
        raise ValueError(f"LLMConfig does not know {', '.join(map(repr, unknown))}.")
