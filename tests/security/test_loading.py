"""Law: loading what was changed raises the documented exceptions and no others.

Valid data of every kind is changed at a random place: a value is left out, exchanged with another
one or replaced by something hostile.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import sys
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from adapters.terminal.history import History
from gateway.app.load import load_config
from gateway.config.problems import ConfigError
from teams import BaseGroupChat
from teams._components.providers import known_providers, resolve_provider
from teams.base import TerminationCondition, run_hooks
from teams.core import CancellationToken, ComponentLoader, FunctionCall, Image
from teams.model_context import UnboundedChatCompletionContext
from teams.models import (
    AssistantMessage,
    BadCredentials,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    SystemMessage,
    UserMessage,
)
from teams.tools import BaseToolWithState, FunctionTool, StaticWorkbench
from tests.fakes import deep_teams
from tests.fakes.interrupted_runs import Build, Later, Models
from tests.teams import test_safe_points, test_safe_points_inside

ROOT = Path(__file__).parents[2]
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
AUTOGEN = ROOT / "tests" / "data" / "autogen-0.7.5"


def deep(wrap: Callable[[Any], Any]) -> Any:
    """A value within a hundred thousand others."""
    inner: Any = wrap(None)
    for _ in range(100_000):
        inner = wrap(inner)
    return inner


DEEP = deep(lambda inner: [inner])
NESTED = deep(lambda inner: {"agent_state": inner})

SHALLOW: Sequence[Any] = (
    *(None, "", "x", "\0", "\ud800", "9" * 5_000, "1e999", "-1", "inf", "true"),
    *(0, -1, 1, 7, 2**31, 2**63, 10**400, True, False, 0.5, 1e308, float("inf"), float("nan")),
    *([], [[]], [None], {}, {"": None}, {"type": "TextMessage"}, {"type": []}, {"x": {"x": {}}}),
)
HOSTILE = (*SHALLOW, DEEP, NESTED)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all values inside."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@st.composite
def changed(draw: st.DrawFn, data: Any, *, deep: bool = True) -> Any:
    """The data with a few of its values changed."""
    data = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places(data))
        if not paths:
            break
        *way, last = paths[draw(st.integers(0, len(paths) - 1))]
        place: Any = data
        for key in way:
            place = place[key]
        match draw(st.sampled_from(["leave out", "exchange", "hostile", "rename"])):
            case "leave out":
                del place[last]
            case "exchange":
                other: Any = data
                for key in paths[draw(st.integers(0, len(paths) - 1))]:
                    other = other[key]
                place[last] = copy.deepcopy(other)
            case "rename" if isinstance(place, dict):
                place[draw(st.sampled_from(["x", "", "type", "content"]))] = place.pop(last)
            case _:
                hostile = draw(st.sampled_from(HOSTILE if deep else SHALLOW))
                if hostile is DEEP or hostile is NESTED:
                    place[last] = hostile
                    break  # nothing walks through it any more
                place[last] = copy.deepcopy(hostile)
    return data


@pytest.fixture(autouse=True)
def _no_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    # pydantic remarks on the standard error that a value is too deep for its text.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


@pytest.fixture(autouse=True, params=["some", pytest.param("all", marks=pytest.mark.nightly)])
def _examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every law is tried with a few changes in `make test`, and with many in `make nightly`.
    monkeypatch.setattr(f"{__name__}.SHARE", 1 if request.param == "all" else 8)


SHARE = 1


def holds_for(inputs: st.SearchStrategy[Any], check: Callable[[Any], None], examples: int) -> None:
    @settings(
        max_examples=-(-examples // SHARE),
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow],
    )
    @given(inputs)
    def run(value: Any) -> None:
        check(value)

    run()


# --- states of teams and their parts ---


def magentic_one(_: Models) -> BaseGroupChat:
    return deep_teams.magentic_one()[0]


SCENARIOS: Sequence[Build] = (
    *test_safe_points.SCENARIOS,
    *test_safe_points_inside.SCENARIOS,
    magentic_one,
)
by_scenario = pytest.mark.parametrize("build", SCENARIOS, ids=lambda build: build.__name__)


@cache
def loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


async def stopped(build: Build) -> list[tuple[Mapping[str, Any], list[bytes]]]:
    """States of the scenario at some of its items, in both formats."""
    team, later, found = build(Models()), Later(), list[tuple[Mapping[str, Any], list[bytes]]]()
    parts = [await team.save_snapshot()]
    with run_hooks(ask=later.ask, intercept=later.intercept):
        async with aclosing(team.run_stream(task="go")) as stream:
            async for _ in stream:
                parts.append(await team.save_delta())
                found.append((json.loads(json.dumps(await team.save_state())), list(parts)))
    return found[:: max(1, len(found) // 4)]


@cache
def saved(build: Build) -> list[tuple[Mapping[str, Any], list[bytes]]]:
    return loop().run_until_complete(stopped(build))


def raises_only(kinds: tuple[type[Exception], ...], load: Callable[[], Awaitable[Any]]) -> None:
    """Load, and expect no exception but these."""
    with suppress(*kinds):
        loop().run_until_complete(load())


@by_scenario
def test_a_teams_state_is_taken_or_a_value_error(build: Build):
    states = [state for state, _ in saved(build)]

    def check(state: Any) -> None:
        raises_only((ValueError,), lambda: build(Models()).load_state(state))

    holds_for(st.sampled_from(states).flatmap(changed), check, 25)


def forged(draw: st.DrawFn, part: bytes) -> bytes:
    """The part with a change behind its checksum, which fits again."""
    head, *lines = part.split(b"\n")[1:]
    data = [json.loads(line) for line in (head, *lines)]
    body = b"\n".join(json.dumps(line).encode() for line in draw(changed(data, deep=False)))
    return b'{"parley_state":2,"crc32":"%08x"}\n%b' % (crc32(body), body)


@st.composite
def changed_parts(draw: st.DrawFn, parts: list[bytes]) -> list[bytes]:
    parts, place = list(parts), draw(st.integers(0, len(parts) - 1))
    match draw(st.sampled_from(["bytes", "line", "leave out", "exchange", "deep"])):
        case "bytes":
            at = draw(st.integers(0, len(parts[place])))
            put = draw(st.binary(max_size=6))
            parts[place] = parts[place][:at] + put + parts[place][at + len(put) :]
        case "line" if parts[place]:
            parts[place] = forged(draw, parts[place])
        case "leave out":
            del parts[place]
        case "deep":
            body = draw(st.sampled_from([b"[", b'{"a":', b'{"part":['])) * 100_000
            parts[place] = b'{"parley_state":2,"crc32":"%08x"}\n%b' % (crc32(body), body)
        case _:
            parts[place], parts[0] = parts[0], parts[place]
    return parts


@by_scenario
def test_a_teams_snapshot_is_taken_or_a_value_error(build: Build):
    chains = [parts for _, parts in saved(build)]

    def check(parts: list[bytes]) -> None:
        raises_only((ValueError,), lambda: build(Models()).load_snapshot(parts))

    holds_for(st.sampled_from(chains).flatmap(changed_parts), check, 25)


def agents_of(team: Any) -> dict[str, Any]:
    return {each.name: each for each in team._participants}


@by_scenario
def test_an_agents_state_is_taken_or_a_value_error(build: Build):
    (state, _), manager = saved(build)[-1], build(Models())
    agents = [name for name in agents_of(manager) if name in state["agent_states"]]
    states = [(name, state["agent_states"][name]["agent_state"]) for name in agents]

    def check(given: tuple[str, Any]) -> None:
        name, data = given
        raises_only((ValueError,), lambda: agents_of(build(Models()))[name].load_state(data))

    inputs = st.sampled_from(states).flatmap(
        lambda each: st.tuples(st.just(each[0]), changed(each[1]))
    )
    holds_for(inputs, check, 20)


@pytest.mark.parametrize(
    "data",
    [None, [], 5, "x", [1], {"type": []}, DEEP, NESTED],
    ids=lambda data: type(data).__name__,
)
def test_a_state_that_is_no_table_is_a_value_error(data: Any):
    for build in SCENARIOS:
        team = build(Models())
        raises_only((ValueError,), lambda team=team: team.load_state(data))
        for agent in agents_of(team).values():
            raises_only((ValueError,), lambda agent=agent: agent.load_state(data))


CONDITIONS = sorted(AUTOGEN.glob("condition-*.json"))


@pytest.mark.parametrize("path", CONDITIONS, ids=lambda path: path.stem)
def test_a_conditions_state_is_taken_or_a_value_error(path: Path):
    component = json.loads(path.read_text())
    component = component.get("component", component)

    def condition() -> TerminationCondition:
        return TerminationCondition.load_component(component)

    state = loop().run_until_complete(condition().save_state())

    def check(data: Any) -> None:
        raises_only((ValueError,), lambda: condition().load_state(data))

    holds_for(changed(dict(state)), check, 25)
    for data in HOSTILE:
        check(data)


# --- parts of agents ---


def noted(text: str) -> str:
    """Note a text."""
    return text


class Count(BaseModel):
    count: int = 0


class Counter(BaseToolWithState[Count, Count, Count]):
    """A tool with a state."""

    def __init__(self) -> None:
        super().__init__(Count, Count, Count, "counter", "Count.")
        self._count = Count()

    async def run(self, args: Count, cancellation_token: CancellationToken) -> Count:
        return args

    def save_state(self) -> Count:
        return self._count

    def load_state(self, state: Count) -> None:
        self._count = state


SPOKEN = UnboundedChatCompletionContext(
    initial_messages=[
        SystemMessage(content="be"),
        UserMessage(content=["look", Image.from_base64(PIXEL)], source="user"),
        AssistantMessage(
            content=[FunctionCall(id="1", name="noted", arguments="{}")], source="a", thought="hm"
        ),
        FunctionExecutionResultMessage(
            content=[FunctionExecutionResult(content="ok", name="noted", call_id="1")]
        ),
        AssistantMessage(content="done", source="a"),
    ]
)


def test_a_model_contexts_state_is_taken_or_a_value_error():
    state = loop().run_until_complete(SPOKEN.save_state())
    inputs = changed(json.loads(json.dumps(state))) | st.sampled_from(HOSTILE)
    holds_for(
        inputs,
        lambda data: raises_only(
            (ValueError,), lambda: UnboundedChatCompletionContext().load_state(data)
        ),
        200,
    )


def test_a_workbenchs_state_is_taken_or_a_value_error():
    def bench() -> StaticWorkbench:
        return StaticWorkbench([FunctionTool(noted, "Note."), Counter()])

    state = loop().run_until_complete(bench().save_state())
    inputs = changed(json.loads(json.dumps(state))) | st.sampled_from(HOSTILE)
    holds_for(
        inputs, lambda data: raises_only((ValueError,), lambda: bench().load_state(data)), 100
    )


# --- components ---


COMPONENTS = [path for path in sorted(AUTOGEN.glob("*.json")) if '"component"' in path.read_text()]
DOCUMENTED = (ValueError, TypeError, NotImplementedError, ImportError, BadCredentials)


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda path: path.stem)
def test_a_component_loads_or_a_documented_exception_is_raised(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    component = json.loads(path.read_text())["component"]

    def check(data: Any) -> None:
        with suppress(*DOCUMENTED):
            ComponentLoader.load_component(data, tool_overrides={"add": f"{__name__}:noted"})

    check(component)
    holds_for(changed(component), check, 25)


@pytest.mark.parametrize("provider", known_providers())
def test_a_config_of_any_provider_loads_or_a_documented_exception_is_raised(
    provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    found = resolve_provider(provider)
    fields = sorted(found.component_config_schema.model_fields)

    def check(config: Any) -> None:
        with suppress(*DOCUMENTED):
            ComponentLoader.load_component({"provider": provider, "config": config})

    values = st.sampled_from(HOSTILE) | st.sampled_from(
        [{"provider": provider, "config": {}}, [{"provider": provider, "config": {}}], ["a"], 10]
    )
    check(DEEP)
    if fields:
        holds_for(st.dictionaries(st.sampled_from(fields), values, min_size=1), check, 25)


# --- configs ---


def blocks() -> list[str]:
    """The configs of the repository and the documentation."""
    files = [ROOT / "config.toml", ROOT / "gateway" / "starter.toml"]
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    found = [block for page in sorted(pages) for block in TOML_BLOCK.findall(page.read_text())]
    return [*(file.read_text() for file in files), *found]


TOML_BLOCK = re.compile(r"```toml\n(.*?)```", re.DOTALL)
WORDS = [
    "[",
    "]",
    "[[",
    "]]",
    "=",
    ".",
    ",",
    "{",
    "}",
    '"',
    '"""',
    "\n",
    "#",
    "${",
    "\\",
    "x",
    "[x]",
]
BIG = [
    "9" * 5_000,
    "1e999",
    "inf",
    "nan",
    "1979-05-27",
    "0x" + "f" * 5_000,
    "[" * 100_000,
    "a = " + "[" * 100_000 + "]" * 100_000,
    "a." * 2_000 + "b = 1",
    "{a=" * 100_000,
]


@st.composite
def changed_text(draw: st.DrawFn, text: str) -> bytes:
    """The text with a few of its lines or characters changed."""
    for _ in range(draw(st.integers(1, 4))):
        at, cut = draw(st.integers(0, len(text))), draw(st.integers(0, 8))
        text = text[:at] + draw(st.sampled_from([*WORDS, *BIG])) + text[at + cut :]
    return text.encode()


def written(value: Any) -> str:
    """A value in TOML, within a line."""
    match value:
        case dict():
            items = (f"{json.dumps(key)} = {written(each)}" for key, each in value.items())
            return f"{{{', '.join(items)}}}"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case bool() | str():
            return json.dumps(value)
        case None:
            return '"none"'
        case date() | time():
            return value.isoformat()
        case _:
            return repr(value)


def written_file(table: dict[str, Any]) -> bytes:
    lines = (f"{json.dumps(key)} = {written(value)}" for key, value in table.items())
    return "\n".join(lines).encode()


@pytest.mark.parametrize("text", blocks(), ids=lambda text: text.splitlines()[0][:30])
def test_a_config_loads_or_a_config_error_is_raised(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.toml"

    def check(data: bytes) -> None:
        path.write_bytes(data)
        for references in (False, True):
            with suppress(ConfigError):
                load_config(path, references=references)

    tables = changed(tomllib.loads(text), deep=False).map(written_file)
    holds_for(changed_text(text) | tables, check, 20)


@pytest.mark.parametrize("data", [*BIG, "\0", "\ufeff\ufeff", "\udcff"], ids=lambda text: text[:9])
def test_a_config_of_odd_bytes_is_a_config_error(data: str, tmp_path: Path):
    (tmp_path / "config.toml").write_bytes(data.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError):
        load_config(tmp_path / "config.toml")


def test_a_config_that_is_a_folder_is_a_config_error(tmp_path: Path):
    with pytest.raises(ConfigError):
        load_config(tmp_path)


# --- the history of the terminal ---


def test_a_history_of_any_bytes_is_a_history(tmp_path: Path):
    path = tmp_path / "prompts.jsonl"
    odd = {"list": b"[" * 100_000, "table": b'{"a":' * 100_000, "number": b"9" * 5_000}
    inputs = (
        st.sampled_from(sorted(odd))
        | st.sampled_from([b"NaN", b'"\\ud800"'])
        | st.sampled_from([b'"one"', b"5", b"null", b'["two"]', b"\xff\xfe", b"\0", b'"cut'])
        | st.binary(max_size=20)
    )

    def check(found: list[bytes | str]) -> None:
        lines = (odd[line] if isinstance(line, str) else line for line in found)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        history = History(path)
        while (older := history.older("")) is not None:
            assert isinstance(older, str)
        history.add("now")
        assert History(path).older("") == "now"

    holds_for(st.lists(inputs, max_size=6), check, 100)
