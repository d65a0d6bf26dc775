"""Component files: their data, and the powers that it asks for.

A file is data. Each component in it that starts a process, reaches a server, uses a folder of this
machine or reads a secret needs an entry in `allow` of the team's table, in full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.request import url2pathname

from pydantic import BaseModel

from gateway.config.allowances import (
    Allowance,
    AllowedAddress,
    AllowedCommand,
    AllowedContainer,
    AllowedExecutor,
    AllowedHosted,
    AllowedMount,
    AllowedVariable,
    covers,
    origin_of,
    toml_entry,
)
from gateway.config.teams import ComponentTeam
from teams.core import component_class, trust_component_prefix
from teams.kinds import KINDS, KindsOf, Part, Want
from teams.memory.kinds import wants_redis
from teams.models.kinds import wants_openai

Reader: TypeAlias = Callable[[Any], Iterator[Allowance]]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")

_CONTAINER = {"read_only": True, "cpus": 1.0}
"""Limits of a container; one that says otherwise needs the operator's word."""

_WITH_FOLDER = {"DockerCommandLineCodeExecutor", "LocalCommandLineCodeExecutor"} | {
    "JupyterCodeExecutor"
}
"""Executors whose code fills a folder of this machine."""

_HARMLESS = {"timeout", "work_dir", "bind_dir", "extra_volumes", "functions_module"} | {
    *("auto_remove", "stop_container", "delete_tmp_files", "work_mb")
}
"""Settings of a container that give no power, or that are mounts."""


class ComponentNotAllowed(ValueError):
    """A component file that wants more than its team's table allows."""


def read_component(config: ComponentTeam) -> Any:
    """The data of the team's file.

    Its trusted modules may be loaded from now on.
    """
    for prefix in ("gateway.demo", *config.trusted_modules):
        trust_component_prefix(prefix)
    return json.loads(config.component.read_text(encoding="utf-8"))


def refuse_unallowed(data: Any, allowed: Iterable[Allowance]) -> None:
    """Raise ComponentNotAllowed if the data wants too much."""
    allowed, needs = [*allowed], needs_of(data)
    if missing := [need for need in needs if not covers(allowed, need)]:
        raise ComponentNotAllowed(
            f"its file wants what `allow` does not name: {', '.join(map(toml_entry, missing))}. "
            f"If you trust the file with all it wants, write in the team's table: "
            f"{allow_line(needs)}"
        )


def import_classes(data: Any) -> None:
    """Import the classes in the data, and the SDKs of its models."""
    for node in _components(data):
        kind = _class_of(node)
        for table in _declared(_names(kind)) if kind else ():
            for module in table.kind.sdk:
                with suppress(ImportError):  # whoever makes the client is told of the extra
                    import_module(module)


def set_limits(data: Any, *, work_mb: float) -> None:
    """Give the executors in the data the limits of those in config.toml.

    The work folder has at most `work_mb`. The rest is for containers that don't say otherwise.
    """
    for node in _components(data):
        kind, config = _class_of(node), node["config"]
        names = _names(kind) if kind else set[str]()
        if names & _WITH_FOLDER:
            given = config.get("work_mb")
            is_less = isinstance(given, int | float) and given < work_mb
            config["work_mb"] = given if is_less else work_mb
        if "DockerCommandLineCodeExecutor" in names:
            for name, value in _CONTAINER.items():
                if config.get(name) is None:
                    config[name] = value


def allow_line(needs: Iterable[Allowance]) -> str:
    """The line of the team's table that allows all of these."""
    return f"allow = [{', '.join(map(toml_entry, needs))}]"


def needs_of(data: Any) -> list[Allowance]:
    """All that the components in the data want, each once.

    Raises ValueError for a component whose config is malformed.
    """
    needs: list[Allowance] = []
    for node in _components(data):
        for need in _needs_of_one(node):
            if not covers(needs, need):
                needs.append(need)
    return needs


def _components(data: Any) -> Iterator[dict[str, Any]]:
    """Everything in the data that may be loaded, at any depth."""
    left: list[Any] = [data]
    while left:
        match cast("dict[str, Any] | list[Any] | None", left.pop()):
            case dict() as table:
                if _is_component(table):
                    yield table
                left += reversed(table.values())
            case list() as items:
                left += reversed(items)
            case _:
                pass


def _is_component(table: Mapping[str, Any]) -> bool:
    return isinstance(table.get("provider"), str) and isinstance(table.get("config"), dict)


def _needs_of_one(node: Mapping[str, Any]) -> Iterator[Allowance]:
    kind = _class_of(node)
    if kind is None:
        return
    names = _names(kind)
    readers = [READERS[name] for name in READERS.keys() & names]
    readers += [partial(_wanted, table) for table in _declared(names)]
    for read in readers:
        yield from read(cast("Any", kind).component_config_schema.model_validate(node["config"]))
    if not kind.__module__.startswith(("teams.", "gateway.demo.")):
        yield from _foreign(node["config"])


def _class_of(node: Mapping[str, Any]) -> type | None:
    try:
        return component_class(node["provider"])
    except (ImportError, TypeError, ValueError):
        return None  # it can't be loaded either; whoever does is told why


def _names(kind: type) -> set[str]:
    """Names of our classes that this one is, or is made from."""
    return {base.__name__ for base in kind.__mro__ if base.__module__.startswith("teams.")}


def _declared(names: Collection[str]) -> Iterator[type[Part]]:
    """The kinds that make classes of these names."""
    for family, declared in KINDS.items():
        for name, each in declared.items():
            if each.makes in names:
                yield KindsOf(family).members[name]


def _wanted(table: type[Part], config: Any) -> Iterator[Allowance]:
    return _allowances(table.wants(config))


def _allowances(wants: Iterable[Want]) -> Iterator[Allowance]:
    for want in wants:
        match want.what:
            case "command":
                yield AllowedCommand(command=[want.value])
            case "address":
                yield AllowedAddress(base_url=origin_of(want.value))
            case "variable":
                server = origin_of(want.server)
                yield AllowedVariable.model_validate({"env": want.value, "for": server})
            case "hosted":
                yield AllowedHosted(hosted=want.value)
            case "code":
                yield AllowedExecutor(executor="local")
            case "folder":
                folder = str(Path.cwd() / want.value)
                yield AllowedMount(mount=folder, read_only=want.read_only)


def _server(config: Any) -> Iterator[Allowance]:
    """An MCP server: a program, or an address."""
    server = config.server_params
    if hasattr(server, "url"):
        yield AllowedAddress(base_url=origin_of(server.url))
        return
    folder = None if server.cwd is None else str(server.cwd)
    yield AllowedCommand(
        command=[server.command, *server.args],
        env=server.env or {},
        cwd=folder,
    )


def _roots(config: Any) -> Iterator[Allowance]:
    """Folders of this machine that a server is told of."""
    for root in config.roots:
        scheme, _, path = str(root.get("uri", "")).partition("://")
        if scheme == "file":
            yield AllowedMount(mount=url2pathname(path), read_only=True)


def _docker(config: BaseModel) -> Iterator[Allowance]:
    given = config.model_dump(exclude_defaults=True)
    own = config.model_dump(include=config.model_fields_set & _CONTAINER.keys(), exclude_none=True)
    given = {name: value for name, value in (given | own).items() if value != _CONTAINER.get(name)}
    for name in ("work_dir", "bind_dir"):
        if name in given:
            yield _folder(given[name])
    for path, target in given.get("extra_volumes", {}).items():
        modes = target.get("mode", "rw").split(",")
        yield AllowedMount(mount=path, read_only="ro" in modes and "rw" not in modes)
    if other := {name: value for name, value in given.items() if name not in _HARMLESS}:
        yield AllowedContainer(container=other)


def _cache(config: Any) -> Iterator[Allowance]:
    yield _folder(config.directory)  # it holds pickles: who writes there runs code here


def _knowledge(config: Any) -> Iterator[Allowance]:
    """A folder, an index, pages, and the server that makes vectors."""
    if config.folder is not None:
        yield AllowedMount(mount=str(Path.cwd() / config.folder), read_only=True)
    if config.index is not None:
        yield _folder(config.index)
    for address in config.addresses:
        yield AllowedAddress(base_url=origin_of(address))
    if (endpoint := config.embeddings) is not None:
        yield from _allowances(wants_openai(endpoint.base_url, given=endpoint.given_key))


def _redis_store(config: Any) -> Iterator[Allowance]:
    given = bool(config.given_password)
    scheme = "rediss" if config.ssl else "redis"
    yield from _allowances(wants_redis(scheme, config.host, config.port, given=given))


def _folder(path: str) -> Allowance:
    """The path as it is used: a ".." in it stays."""
    return AllowedMount(mount=str(Path.cwd() / path))


def _only_in_code(_: Any) -> Iterator[Allowance]:
    """Refuse a class whose powers no entry of `allow` names."""
    raise ValueError(
        "a component file may not name an agent of teams.conversable, whose settings say which "
        "models it asks and which code it runs: make the team in a factory of your own."
    )


READERS: Mapping[str, Reader] = {
    "ConversableAgent": _only_in_code,
    "McpWorkbench": _server,
    "StdioMcpToolAdapter": _server,
    "SseMcpToolAdapter": _server,
    "StreamableHttpMcpToolAdapter": _server,
    "McpSessionActor": _server,
    "StaticRootsProvider": _roots,
    "DockerCommandLineCodeExecutor": _docker,
    "DiskCacheStore": _cache,
    "KnowledgeMemory": _knowledge,
    "RedisStore": _redis_store,
}
"""Our component classes that want something, by name; subclasses want the same."""


def _foreign(config: Any, *, nested: bool = False) -> Iterator[Allowance]:
    """Addresses and commands for a class that is not ours."""
    match config:
        case dict() if nested and _is_component(cast("dict[str, Any]", config)):
            pass  # it is asked about on its own
        case str() if _ADDRESS.fullmatch(config):
            yield AllowedAddress(base_url=origin_of(config))
        case dict():
            table = cast("dict[str, Any]", config)
            if command := _command_in(table):
                yield AllowedCommand(command=command)
            for each in table.values():
                yield from _foreign(each, nested=True)
        case list():
            for each in cast("list[Any]", config):
                yield from _foreign(each, nested=True)
        case _:
            pass


def _command_in(table: Mapping[str, Any]) -> list[str]:
    command, arguments = table.get("command"), table.get("args")
    words: list[Any] = cast("list[Any]", command) if isinstance(command, list) else [command]
    if isinstance(arguments, list):
        words = [*words, *cast("list[Any]", arguments)]
    return [str(word) for word in words] if command else []
