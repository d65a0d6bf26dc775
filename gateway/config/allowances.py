"""`allow` of a team from a file: the file's powers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import AfterValidator, Discriminator, Field, SecretStr, Tag

from gateway.base.redaction import names_secret
from teams.kinds import Secret, Section, tag_by


def origin_of(address: str) -> str:
    """Scheme, host and port, as the HTTP client reads the address.

    Raises ValueError for a text that is no address.
    """
    import httpx  # few configs have an address here

    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise ValueError(f"found {address!r}, expected an address: {error}") from error
    host = url.raw_host.decode("ascii")
    if not (url.scheme and host):
        raise ValueError(f"found {address!r}, expected an address such as https://api.example.com")
    shown = f"[{host}]" if ":" in host else host
    return f"{url.scheme}://{shown}" + (f":{url.port}" if url.port is not None else "")


def _origin(text: str) -> str:
    origin = origin_of(text)
    if text.lower().removesuffix("/") != origin or "*" in origin:
        raise ValueError(f"found {text!r}, expected scheme, host and port alone, such as {origin}")
    return origin


Origin = Annotated[str, AfterValidator(_origin)]


class AllowedCommand(Section):
    """A program that the file may start."""

    command: list[str] = Field(min_length=1)
    """The whole command line: the program and each of its arguments."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """All variables that the file sets for it."""

    cwd: str | None = None
    """Working folder that the file sets for it."""


class AllowedAddress(Section):
    """A server that the file may reach."""

    base_url: Origin
    """Scheme, host and port, such as "https://api.example.com"."""


class AllowedMount(Section):
    """A folder of this machine for the file's code or container."""

    mount: str
    """The whole path."""

    read_only: bool = False
    """True if the code may only read it."""


class AllowedVariable(Section):
    """A secret of the environment that one server may get."""

    env: str
    """Name of the environment variable."""

    server: Origin = Field(alias="for")
    """Scheme, host and port of the server, which it may then also reach."""


class AllowedExecutor(Section):
    """Code on this machine, outside of a container."""

    executor: Literal["local"]
    """Kind of executor."""


class AllowedContainer(Section):
    """A container that differs from the default one."""

    container: dict[str, Any] = Field(min_length=1)
    """All settings of the container that differ: image, network_mode, init_command, ..."""


class AllowedHosted(Section):
    """A tool that a model's provider runs, unseen by any policy."""

    hosted: dict[str, Any] = Field(min_length=1)
    """All settings of the tool but its secrets, such as { type = "web_search" }."""


Allowance: TypeAlias = (
    AllowedCommand
    | AllowedAddress
    | AllowedMount
    | AllowedVariable
    | AllowedExecutor
    | AllowedContainer
    | AllowedHosted
)

AllowanceConfig = Annotated[
    Annotated[AllowedCommand, Tag("command")]
    | Annotated[AllowedAddress, Tag("base_url")]
    | Annotated[AllowedMount, Tag("mount")]
    | Annotated[AllowedExecutor, Tag("executor")]
    | Annotated[AllowedContainer, Tag("container")]
    | Annotated[AllowedHosted, Tag("hosted")]
    | Annotated[AllowedVariable, Tag("env")],
    Discriminator(tag_by("command", "base_url", "mount", "executor", "container", "hosted", "env")),
]


def covers(allowed: Sequence[Allowance], need: Allowance) -> bool:
    """True if the need, or more of the same, is allowed."""
    match need:
        case AllowedAddress(base_url=server):
            granted = any(isinstance(e, AllowedVariable) and e.server == server for e in allowed)
            return granted or need in allowed
        case AllowedMount(mount=mount, read_only=True):
            return need in allowed or AllowedMount(mount=mount) in allowed
        case _:
            return need in allowed


def toml_entry(allowance: Allowance) -> str:
    """The allowance as an entry of `allow`, with variables for secrets."""
    return _table(allowance.model_dump(by_alias=True, exclude_defaults=True))


def _table(values: dict[str, Any]) -> str:
    return f"{{ {', '.join(_pairs(values))} }}"


def _pairs(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        plain = value.get_secret_value() if isinstance(value, SecretStr) else value
        hidden = isinstance(value, SecretStr) and names_secret(name)
        yield f"{_text_key(name)} = " + (f'"${{{name}}}"' if hidden else _value(plain))


def _text_key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _value(name)


def _value(value: Any) -> str:
    match value:
        case str():
            # JSON's escapes are TOML's; a text with ${NAME} is written so that it stays a text.
            text = json.dumps(value.replace("${", "$${"), ensure_ascii=False)
            return text.replace("\x7f", "\\u007f")
        case dict():
            return _table(cast("dict[str, Any]", value))
        case list():
            return f"[{', '.join(map(_value, cast('list[Any]', value)))}]"
        case _:
            return json.dumps(value)
