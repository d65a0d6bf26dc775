"""Models of a config list, asked in order until one answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Protocol

from teams._base.workers import in_daemon_worker, is_async
from teams.conversable._cache import Cache, CacheAsStore
from teams.conversable._facade import run_to_end
from teams.conversable._mode import Mode, forms
from teams.conversable._model_config import ModelCall, merge_entries
from teams.conversable._model_messages import fill_templates
from teams.conversable._protocols import Function, Given, Settings
from teams.conversable._providers import ProviderClient
from teams.conversable._usage import (
    COUNTED,
    Summary,
    add_usage,
    merge_usage,
    parse_price,
    print_usage,
)
from teams.models._course import UNAVAILABLE, Rest, resting_last
from teams.models._errors import ModelError, ModelRefused, ModelTimeout
from teams.models.cache import KeptAnswers

logger = logging.getLogger("teams")


class ModelClient(Protocol):
    """A client of one's own, named in an entry by `model_client_cls`.

    Made with its entry. Responses have `choices`, each with a `message`, and `model`.
    """

    RESPONSE_USAGE_KEYS: ClassVar[Sequence[str]] = ("model", *COUNTED)

    def create(self, params: Settings) -> Any:
        """The response to a request: its options and `model_client_cls`."""
        ...

    def message_retrieval(self, response: Any) -> list[Any]:
        """The texts or messages of the response's choices."""
        ...

    def cost(self, response: Any) -> float:
        """Its cost."""
        ...

    @staticmethod
    def get_usage(response: Any) -> Settings | None:
        """Values by RESPONSE_USAGE_KEYS; a response without them is not counted."""
        ...


class _Entry(Rest):
    """One entry of the config list and its client."""

    def __init__(self, number: int, settings: Settings) -> None:
        super().__init__()
        self.number = number
        self.settings = settings
        self.custom: str | None = settings.get("model_client_cls")
        self.client: Any = None
        if not self.custom:
            provider = settings.get("api_type") or "openai"
            self.client = ProviderClient(provider, settings.get("response_format"))
        if (price := settings.get("price")) is not None:
            parse_price(price)  # a wrong one is told before a model is asked

    async def ask(self, mode: Mode, call: ModelCall) -> Any:
        """The response, its cost set."""
        create = partial(self.client.create, call.options if self.custom else call)
        if is_async(self.client.create):
            response = await create() if mode.is_async else run_to_end(create())
        else:
            off_loop = partial(in_daemon_worker, create, name="model client")
            response = await mode.call(create, off_loop)
        with suppress(AttributeError, ValueError):  # a class may take no more fields
            response.cost = self.client.cost(response)
        return response


class OpenAIWrapper:
    """Asks the models of a config list, in order until one answers.

    A model that fails leads to the next one; the last one's error is raised, a timeout as
    TimeoutError, and an answer that was withheld by a content filter at once. One that is not
    available rests, as those of a FallbackChatCompletionClient, and is asked last meanwhile. A
    cache that fails is logged, and costs no answer. Usage is summed up
    without (`actual_usage_summary`) and with answers out of a cache (`total_usage_summary`).
    """

    def __init__(self, *, config_list: list[Settings] | None = None, **base_config: Any) -> None:
        self.actual_usage_summary: Summary | None = None
        self.total_usage_summary: Summary | None = None
        self._entries: list[_Entry] = []
        self.reconfigure({**base_config, "config_list": config_list})

    def reconfigure(self, config: Given) -> None:
        """Take another config; registered clients and the usage so far stay."""
        known = [(each.custom, each.client) for each in self._entries if each.custom]
        self._entries = [_Entry(*each) for each in enumerate(merge_entries(config))]
        for entry in self._entries:
            match = next((each for each in known if entry.custom == each[0]), None)
            if match is not None:
                known.remove(match)
                entry.client = match[1]

    def register_model_client(self, model_client_cls: Function, **kwargs: object) -> None:
        """Make the first placeholder that names the class a client: cls(entry, **kwargs)."""
        name = model_client_cls.__name__
        named = [entry for entry in self._entries if entry.custom == name]
        if not named:
            raise ValueError(
                f'Model client "{name}" is being registered but was not found in the config_list. '
                f'Please make sure to include an entry in the config_list with "model_client_cls": '
                f'"{name}".'
            )
        for entry in named:
            if entry.client is None:
                entry.client = model_client_cls(dict(entry.settings), **kwargs)
                return
        logger.warning("All entries of the config_list for the model client %s are taken.", name)

    def extract_text_or_completion_object(self, response: Any) -> list[Any]:
        """The text of each choice, or its message if it holds calls."""
        index: int = response.config_id
        return self._entries[index].client.message_retrieval(response)

    def print_usage_summary(self, mode: str | list[str] = ["actual", "total"]) -> None:  # noqa: B006
        """Print the usage without and with answers out of a cache."""
        print_usage(self.actual_usage_summary, self.total_usage_summary, mode)

    def add_usage_of(self, other: OpenAIWrapper) -> None:
        """Count what another wrapper's models have used, too."""
        if (actual := other.actual_usage_summary) is not None:
            self.actual_usage_summary = merge_usage(self.actual_usage_summary, actual)
        if (total := other.total_usage_summary) is not None:
            self.total_usage_summary = merge_usage(self.total_usage_summary, total)

    def clear_usage_summary(self) -> None:
        """Forget the usage so far."""
        self.actual_usage_summary = self.total_usage_summary = None

    async def _create(self, mode: Mode, **config: Any) -> Any:
        """The first answer that passes `filter_func`.

        Options go over those of the entries. Ours are `context` (for templates in messages and the
        filter), `cache`, `filter_func` and `agent`. The response gets `cost`, `config_id` and
        `pass_filter`. In the async form a custom client's own `create` runs off the loop.
        """
        self._check_registered()
        config = {key: value for key, value in config.items() if value is not None}
        entries = resting_last(self._entries, time.monotonic())
        for entry in entries:
            call, is_last = _call(entry, config), entry is entries[-1]
            try:
                response = await self._answer(mode, entry, call)
            except ModelRefused:
                raise
            except Exception as error:
                self._check_passing(entry, error, is_last=is_last)
                continue
            entry.recover()
            passed = _passes(call, response)
            with suppress(AttributeError, ValueError):
                response.config_id, response.pass_filter = entry.number, passed
            if passed or is_last:
                return response
        raise ValueError("The config_list is empty.")

    create, a_create = forms(_create)

    def _check_passing(self, entry: _Entry, error: Exception, *, is_last: bool) -> None:
        """Raise the error, unless the next entry is asked."""
        if isinstance(error, UNAVAILABLE):
            entry.rest(error, time.monotonic())
        elif not isinstance(error, ModelError) and not entry.custom:
            raise error
        if is_last and isinstance(error, ModelTimeout):
            raise TimeoutError(str(error)) from error
        if is_last:
            raise error
        logger.warning("Entry %d of the config_list failed: %s", entry.number, error)

    async def _answer(self, mode: Mode, entry: _Entry, call: ModelCall) -> Any:
        """The response, out of the cache if it is there; counted."""
        kept = _kept(call)
        key = "" if kept is None else call.cache_key()
        response = None if kept is None else await kept.load(key)
        if response is None:
            response = await entry.ask(mode, call)
            usage = entry.client.get_usage(response)
            self.actual_usage_summary = add_usage(self.actual_usage_summary, usage)
            if kept is not None:
                await kept.keep(key, response)
        usage = entry.client.get_usage(response)
        self.total_usage_summary = add_usage(self.total_usage_summary, usage)
        return response

    def _check_registered(self) -> None:
        missing = [entry.custom for entry in self._entries if entry.client is None]
        if missing:
            raise RuntimeError(
                f"Model client(s) {missing} are not activated. Please register the custom model "
                "clients using `register_model_client` or filter them out of the config list."
            )


def _call(entry: _Entry, config: Given) -> ModelCall:
    settings = {**entry.settings, **config}
    settings["messages"] = fill_templates(
        settings.get("messages", ()),
        settings.get("context"),
        texts=bool(settings.get("allow_format_str_template")),
    )
    return ModelCall(settings)


def _kept(call: ModelCall) -> KeptAnswers[Any] | None:
    """The answers in the chat's cache, or in the seed's."""
    cache, seed = call.settings.get("cache"), call.settings.get("cache_seed")
    if cache is None and seed is not None:
        cache = Cache.disk(seed)
    return None if cache is None else KeptAnswers(CacheAsStore(cache))


def _passes(call: ModelCall, response: Any) -> bool:
    passes: Callable[..., bool] | None = call.settings.get("filter_func")
    return passes is None or passes(context=call.settings.get("context"), response=response)
