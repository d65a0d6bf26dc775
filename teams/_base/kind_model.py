"""The table of a model client, which all kinds of models share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, SecretStr, model_validator

from teams._base.kinds import Kind, Load, Part, argument_of, meanings_of, plain_argument
from teams._base.meanings import Given, Named, Variable
from teams._base.tables import Section, setting_error


class ModelInfoConfig(Section):
    """Abilities of a model that Parley does not know by name."""

    vision: bool = False
    """True if it takes images."""

    function_calling: bool = True
    """True if it calls tools, as agents with tools or hand-offs need."""

    json_output: bool = True
    """True if it can answer with JSON."""

    structured_output: bool = False
    """True if it can answer by a JSON schema."""

    family: str = "unknown"
    """Family of the model, such as "gpt-4o" or "claude-3.5-sonnet"."""

    multiple_system_messages: bool | None = None
    """True if it takes system messages between other messages."""

    def info(self) -> dict[str, object]:
        """The abilities as a client's class takes them."""
        return self.model_dump(exclude_none=True)


class RetryConfig(Section):
    """Further attempts at requests with a passing error.

    Parley makes them before the first piece of an answer, and before it asks another model
    (fallback). They replace those of the client itself (max_retries).
    """

    attempts: int = Field(default=3, ge=1)
    """Times that a request is sent at most."""

    max_wait: float = Field(default=20, ge=0)
    """Most seconds between two of them.

    A provider that asks for a longer pause is not waited for: the model counts as not available.
    """


class ModelKind(Part):
    """A model client.

    All threads share it, and it is closed when Parley ends. A `provider` may be an import path,
    "package.module:name": a client class of your own, or a kind that declares its settings.
    """

    kind: ClassVar[Kind] = Kind("model", "", "")

    is_local: ClassVar[bool] = False
    """True for a client that reaches no server and costs nothing."""
    repeats: ClassVar[bool] = False
    """True if the client itself sends failed requests again (max_retries)."""
    usual: ClassVar[Mapping[str, object]] = {}
    """Arguments that the client needs, and that the table may leave out."""
    usual_address: ClassVar[str] = ""
    """Address that the client uses where none is given; a host will do, too."""
    example: ClassVar[str] = ""
    """An address, if the client can't do without."""
    needs_key: ClassVar[bool] = False
    """True if the key has to be given."""
    is_spoken: ClassVar[bool] = False
    """True if servers of others, which may need no key, speak its API."""
    keyless: ClassVar[str] = ""
    """Source of the key where the table and its variable give none."""
    catalog: ClassVar[Mapping[str, str] | None] = None
    """Its provider for the catalog of prices."""

    provider: str = "openai"
    """Kind of client, or an import path."""

    model: str = ""
    """Name of the model at the provider."""

    base_url: str | None = None
    """Address of the API, such as "http://localhost:8000/v1".

    The key is sent there alone.
    """

    api_key: SecretStr | None = None
    """Key of the API.

    A variable or a file is safer: api_key_env = "NAME", api_key_file = "path".
    """

    timeout: float | None = Field(default=None, gt=0)
    """Seconds after which a request fails."""

    max_retries: int | None = Field(default=None, ge=0)
    """Times that a request with a temporary failure is sent again."""

    retry: Annotated[RetryConfig | None, Given(None)] = None
    """Rules for sending a request again, for any kind of client."""

    fallback: Annotated[list[Annotated[str, Named("models")]], Given(None)] = Field(
        default_factory=list
    )
    """Models that answer while this one is not available, in their order.

    After a rate limit, an outage, a refused key or an empty account Parley asks the next one, and
    this one rests for a while. What a model refuses is not asked of another one.
    """

    model_info: Annotated[ModelInfoConfig | None, Given("model_info", ModelInfoConfig.info)] = None
    """Abilities of the model, if Parley does not know its name."""

    options: Annotated[dict[str, Any], Given(None)] = Field(default_factory=dict)
    """Further arguments of the client: temperature, max_tokens, parallel_tool_calls, ..."""

    @model_validator(mode="after")
    def _check_one_way_to_retry(self) -> Self:
        if self.retry is not None and self.max_retries is not None:
            said = f"found {self.max_retries} beside retry, expected one of the two"
            raise setting_error("max_retries", said, given=("retry",))
        return self

    @property
    def label(self) -> str:
        """The model's name for people."""
        return self.model or self.provider

    @property
    def address(self) -> str:
        """The address of the model's server, or "" for the provider's own."""
        address = self.base_url or self.read("base_url") or self.usual_address
        return address if "://" in address or not address else f"http://{address}"

    @property
    def key_variable(self) -> str:
        """The variable with the key, or ""."""
        return next(self.variables("api_key"), "")

    @property
    def listed(self) -> Mapping[str, str] | None:
        """Its provider for the catalog of prices; None if that has none."""
        if self.is_spoken and self.address:
            return {"provider_api_url": self.address}
        return self.catalog

    def resolved(self) -> ModelKind:
        """The settings as they are meant in this environment."""
        return self

    @classmethod
    def argument(cls, setting: str) -> str | None:
        """The client's argument for a setting; None if it takes none."""
        return argument_of(setting, meanings_of(cls)[setting])

    @classmethod
    def variables(cls, *settings: str) -> Iterator[str]:
        """Variables that are read where settings, or any, are not given."""
        for name in settings or sorted(cls.model_fields):
            meanings = meanings_of(cls)[name]
            yield from (each.name for each in meanings if isinstance(each, Variable))

    def read(self, setting: str) -> str:
        """The value of the first variable for a setting, or ""."""
        return next(filter(None, map(os.environ.get, self.variables(setting))), "")

    def make(self, load: Load, client_of: Load) -> Any:
        """Make the client. Raises what its class raises."""
        client = load(self.kind.made_by or self.provider)
        given = {
            name: plain_argument(value, meanings, load, client_of)
            for name, value, meanings in self.given()
        }
        if self.retry and self.repeats:
            given["max_retries"] = 0
        given = {**self.usual, **given, **self.options}
        try:
            return client(**given)
        except ValueError:
            own_server = given.get(self.argument("base_url") or "") or self.read("base_url")
            if not self.kind.made_by or "model_info" in given or not own_server:
                raise
            # The model's name says nothing: take what such servers can do nowadays.
            return client(**given, model_info=ModelInfoConfig().info())
