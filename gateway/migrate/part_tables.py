"""Models, contexts, memories, executors, servers and conditions as settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias, cast

from gateway.config.models import MODELS
from gateway.migrate.fields import (
    Fields,
    Report,
    class_of,
    is_component,
    plain_value,
    slug,
    variable,
    without_password,
)
from gateway.migrate.toml_text import plain
from teams.kinds import KINDS, OTHERS, Family, KindsOf, ModelKind, Part, plugins_of

Form: TypeAlias = Mapping[str, Any]
Table: TypeAlias = dict[str, Any]

_REPLAY = "teams.models.replay:ReplayChatCompletionClient"
_SECRET = (
    *("azure_ad_token", "azure_ad_token_provider", "default_headers", "organization"),
    *("bedrock_info", "headers"),
)
_ROLES = {"SystemMessage": "system", "UserMessage": "user", "AssistantMessage": "assistant"}


class PartTables:
    """Makes the settings of parts; models are kept under `models`."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.models: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}

    def model(self, form: Form | None, path: str) -> str | None:
        """The name of the model's table; None if it can't be taken."""
        if form is None:
            return None
        if class_of(form) == "ChatCompletionCache":
            inside = Fields(form, path, self.report)
            client = inside.component("client")
            self.report.lose(path, "the cache; its model is taken without it")
            return self.model(client, inside.at("client"))
        same = json.dumps([form["provider"], form["config"]], sort_keys=True)
        if same not in self._names:
            made = self._model(form, path)
            if made is None:
                return None
            name = slug(str(made.get("model") or "model"), self.models, "model")
            self._key(name, form, made)
            self.models[name] = made
            self._names[same] = name
        return self._names[same]

    def _model(self, form: Form, path: str) -> Table | None:
        fields = Fields(form, path, self.report)
        if class_of(form) == "ReplayChatCompletionClient":
            return self._replay(fields)
        if (name := kind_of("model", form)) is None:
            said = f"no model client like {form['provider']}; the default model is used"
            self.report.lose(path, said)
            return None
        table: Table = {"provider": name}
        kind = cast("type[ModelKind]", MODELS.members[name])
        for setting in kind.model_fields:
            if (argument := kind.argument(setting)) and setting not in kind.secrets():
                table.update((setting, value) for value in fields.copy(argument).values())
        if (address := table.get("base_url")) and (bare := without_password(address)) != address:
            table["base_url"] = bare
            self.report.lose(fields.at(kind.argument("base_url") or ""), "the password in it")
        for secret in _SECRET:
            if fields.take(secret):
                said = "it may hold a secret: write it in `options` with ${VARIABLE}"
                self.report.lose(fields.at(secret), said)
        fields.take("api_key")
        if name in KINDS["model"] and (options := fields.copy(*fields.left())):
            table["options"] = options
        fields.rest()
        return table

    def _key(self, name: str, form: Form, table: Table) -> None:
        """Name a variable instead of the key."""
        kind = cast("type[ModelKind]", MODELS.members.get(table["provider"], ModelKind))
        if not (kind.kind.name and kind.argument("api_key") and form["config"].get("api_key")):
            return
        usual = next(kind.variables("api_key"), "")
        used = {each.get("api_key_env") for each in self.models.values()}
        own = variable(name, "API_KEY")
        env = own if "base_url" in table or usual in used else usual
        table["api_key_env"] = env
        self.report.todo.append(f"put the key of [models.{name}] into the variable {env}")

    def _replay(self, fields: Fields) -> dict[str, Any]:
        answers = [each for _, each in fields.items("chat_completions")]
        if any(not isinstance(each, str) for each in answers):
            self.report.lose(fields.at("chat_completions"), "answers that are no texts")
        texts = [plain(each) for each in answers if isinstance(each, str)]
        options = {"chat_completions": texts} | fields.copy("model_info")
        return {"provider": _REPLAY, "options": options}

    def initial_messages(self, fields: Fields) -> list[Table]:
        """The messages before a context's conversation."""
        entries = fields.items("initial_messages")
        return [made for at, each in entries if (made := self._initial(each, at))]

    def _initial(self, message: Any, path: str) -> dict[str, Any] | None:
        match message:
            case {"type": str(kind), "content": str(text)} if kind in _ROLES:
                source = message.get("source")
                made = {"role": _ROLES[kind], "content": plain(text)}
                return made | ({"source": plain(source)} if isinstance(source, str) else {})
            case _:
                self.report.lose(path, "a message that is no text")
                return None

    def contents(self, fields: Fields) -> list[Table]:
        """The contents of a memory."""
        contents: list[dict[str, Any]] = []
        for at, each in fields.items("memory_contents"):
            match each:
                case {"content": str(), "mime_type": str()}:
                    contents.append(plain_value(each))
                case _:
                    self.report.lose(at, "a content that is no text")
        return contents

    def server(self, form: Form, path: str, number: int) -> dict[str, Any] | None:
        """An MCP server; secrets become variables."""
        fields = Fields(form, path, self.report)
        params = fields.take("server_params", {})
        fields.rest()
        inner = Fields({"config": params}, fields.at("server_params"), self.report)
        kind = inner.take("type")
        name = "mcp" if number == 1 else f"mcp{number}"
        table: dict[str, Any] = {"name": name}
        if kind == "StdioServerParams":
            table |= inner.copy("command", "args", "cwd")
            seconds = inner.take("read_timeout_seconds")
            table |= self._variables("env", inner.take("env", {}), "")
            inner.rest("encoding", "encoding_error_handler")
        else:
            table["url"] = plain(without_password(str(inner.take("url", ""))))
            if kind == "SseServerParams":
                table["transport"] = "sse"
            seconds = inner.take("sse_read_timeout")
            table |= self._variables("headers", inner.take("headers", {}), name)
            inner.rest("timeout", "terminate_on_close")
        if isinstance(seconds, int | float) and seconds > 0:
            table["timeout"] = seconds
        return table

    def web_tool(self, fields: Fields) -> dict[str, Any] | None:
        """A web service as a tool; headers become variables."""
        name, host = str(fields.take("name", "")), str(fields.take("host", ""))
        if not (name and host):
            self.report.lose(fields.path, "an HTTP tool without a name or a host")
            return None
        port = f":{fields.take('port')}" if fields.take("port") else ""
        way = str(fields.take("path", "/"))
        address = f"{fields.take('scheme', 'http')}://{host}{port}/{way.removeprefix('/')}"
        table: dict[str, Any] = {"http": plain(address), "name": name}
        table["description"] = plain(str(fields.take("description", "HTTP tool")))
        table["method"] = fields.take("method", "POST")
        table["parameters"] = plain_value(fields.take("json_schema", {}))
        headers = self._variables("headers", fields.take("headers", {}), name, "the HTTP tool")
        table |= headers | fields.copy("return_type", "timeout")
        fields.rest()
        return table

    def _variables(
        self, key: str, given: Mapping[str, Any], before: str, whose: str = "an MCP server"
    ) -> dict[str, Any]:
        if not given:
            return {}
        names = {each: variable(before, each) if before else each for each in given}
        self.report.todo.append(f"set the variables {', '.join(names.values())} for {whose}")
        return {key: {each: f"${{{name}}}" for each, name in names.items()}}

    def condition(self, form: Form | None, path: str) -> str | None:
        """The expression of a termination condition."""
        if form is None:
            return None
        fields = Fields(form, path, self.report)
        kind = class_of(form)
        if kind in ("OrTerminationCondition", "AndTerminationCondition"):
            parts = [
                made
                for at, each in fields.items("conditions")
                if is_component(each) and (made := self.condition(each, at))
            ]
            joined = (" | " if kind.startswith("Or") else " & ").join(parts)
            return f"({joined})" if len(parts) > 1 else joined or None
        plugins = plugins_of("condition").items()
        provider = form["provider"]
        theirs = (name for name, found in plugins if found[0].path.replace(":", ".") == provider)
        short = kind.removesuffix("Termination") if kind.endswith("Termination") else ""
        if not (name := next(theirs, short)):
            self.report.lose(path, f"no condition like {provider}")
            return None
        config = cast("dict[str, Any]", form["config"])
        given = {key: value for key, value in config.items() if value is not None}
        arguments = ", ".join(f"{key}={_literal(value)}" for key, value in given.items())
        return f"{name}({arguments})"


def kind_of(family: Family, form: Form) -> str | None:
    """The name of the kind that makes the component's class."""
    provider, made = form["provider"], class_of(form)
    theirs = (tag for tag, table in _others(family, provider) if _is_made_by(table, provider))
    ours = (name for name, each in KINDS[family].items() if each.makes == made and made)
    return next(chain(theirs, ours), None)


def _literal(value: Any) -> str:
    match value:
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return "'" + plain(escaped).replace("\n", "\\n").replace("\t", "\\t") + "'"
        case list():
            return f"[{', '.join(map(_literal, cast('list[Any]', value)))}]"
        case _:
            return repr(value)


def _others(family: Family, provider: str) -> Iterator[tuple[str, type[Part]]]:
    """Kinds of others that may make the class; its package's are imported."""
    package, kinds = provider.partition(".")[0], KindsOf(family)
    for name, found in kinds.plugins.items():
        if re.split("[.:]", found[0].path)[0] == package:
            with suppress(ValueError):  # `parley plugins` tells it
                kinds.others(name)
    yield from [(tag, table) for (of, tag), table in OTHERS.items() if of == family]


def _is_made_by(table: type[Part], provider: str) -> bool:
    """True for a class of this name in the kind's package."""
    module, _, name = table.kind.made_by.partition(":")
    package = module.partition(".")[0]
    return provider.startswith(f"{package}.") and provider.endswith(f".{name}")
