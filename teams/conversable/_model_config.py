"""The entries of an `llm_config`: checked, merged, filtered, read from a file."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from teams.conversable._protocols import Given, Settings
from teams.conversable._usage import Price, parse_price

AWS = ("aws_access_key", "aws_secret_key", "aws_session_token", "aws_region")
_AZURE = ("azure_endpoint", "azure_deployment", "azure_ad_token", "azure_ad_token_provider")
_SDK = ("api_key", "base_url", "organization", "timeout", "max_retries", "default_headers")
CONNECTION = frozenset({"model", "model_info", "api_version", *_SDK, *_AZURE, *AWS})
"""Keys by which a model is reached."""
_CALL = ("cache", "context", "agent", "filter_func", "allow_format_str_template", "config_list")
_OWN = frozenset({"api_type", "price", "cache_seed", "tags", *_CALL})
"""Keys that say something to us alone."""
_UNSENT = (CONNECTION - {"model"}) | _OWN


def check_llm_config(config: object) -> Settings | Literal[False]:
    """A copy of an agent's `llm_config`.

    AssertionError for what is neither a dict nor False, TypeError for what can't be copied, and
    ValueError for a config that names no model.
    """
    if config is False:
        return False
    if not isinstance(config, dict):
        raise AssertionError("llm_config must be a dict or False or None.")
    try:
        copied = copy.deepcopy(cast("Settings", config))
    except Exception as error:
        raise TypeError(
            f"llm_config can't be copied: {error}. Give settings, not objects that hold "
            "connections or locks."
        ) from error
    entries = merge_entries(copied)
    if not copied or not entries or any(not entry.get("model", True) for entry in entries):
        raise ValueError(
            "llm_config names no model: give a non-empty 'model' in it or in each entry of its "
            "'config_list'."
        )
    return copied


def merge_entries(config: Given) -> list[Settings]:
    """The `config_list`'s entries over the top level; without one, one entry."""
    top = {key: value for key, value in config.items() if key != "config_list"}
    listed = config.get("config_list")
    return [top] if listed is None else [{**top, **entry} for entry in listed]


@dataclass(frozen=True, slots=True, eq=False)
class ModelCall:
    """One entry with a call's own options: what is asked, and where."""

    settings: Given

    @property
    def options(self) -> Settings:
        """Options of the request."""
        return {
            key: value
            for key, value in self.settings.items()
            if key not in _UNSENT and value not in (None, [])
        }

    @property
    def connection(self) -> Settings:
        """Settings by which the model is reached."""
        given = self.settings
        return {key: given[key] for key in CONNECTION if given.get(key) is not None}

    @property
    def price(self) -> Price | None:
        """The price that the entry gives."""
        given = self.settings.get("price")
        return None if given is None else parse_price(given)

    def cache_key(self) -> str:
        """The text by which an answer is found again."""
        return json.dumps(self.options, sort_keys=True, default=_named)


def filter_config(
    config_list: list[Settings],
    filter_dict: Mapping[str, Sequence[Any]] | None,
    exclude: bool = False,
) -> list[Settings]:
    """The entries with accepted values, which `filter_dict` names by key.

    A list fits by any common value, an absent key only if None is accepted. `exclude` keeps the
    entries of which no value is among them.
    """
    if not filter_dict:
        return config_list

    def fits(entry: Settings) -> bool:
        fitting = (_is_accepted(entry.get(key), accepted) for key, accepted in filter_dict.items())
        return not any(fitting) if exclude else all(fitting)

    return [entry for entry in config_list if fits(entry)]


def config_list_from_json(
    env_or_file: str,
    file_location: str | None = "",
    filter_dict: Mapping[str, Sequence[Any]] | None = None,
) -> list[Settings]:
    """The config list of an environment variable or a file.

    The variable holds JSON or a path. Raises FileNotFoundError if there is neither, and ValueError
    for what is no JSON.
    """
    text = os.environ.get(env_or_file)
    if text is None:
        text = Path(file_location or "", env_or_file).read_text(encoding="utf-8")
    elif Path(text).is_file():
        text = Path(text).read_text(encoding="utf-8")
    try:
        listed = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"The config list of {env_or_file!r} is no JSON: {error}.") from None
    return filter_config(listed, filter_dict)


def _is_accepted(value: object, accepted: Sequence[Any]) -> bool:
    values = cast("list[Any]", value if isinstance(value, list) else [value])
    return any(each in accepted for each in values)


def _named(value: object) -> Any:
    """A class's schema, or the name of a function."""
    schema = getattr(value, "model_json_schema", None)
    return schema() if callable(schema) else getattr(value, "__qualname__", str(value))
