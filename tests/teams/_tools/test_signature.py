"""Signatures of tools' functions: made once, never of another function."""

import gc
import sys
import weakref
from functools import partial, wraps
from types import ModuleType
from typing import Any, Literal

import pytest

from teams.core import CancellationToken
from teams.tools import FunctionTool

SOURCE = """
from typing import Annotated

def tool(place: str, count: int = 1) -> str:
    return f"{place} {count}"

class Desk:
    def __init__(self, name):
        self.name = name
    def tool(self, place: str) -> str:
        return f"{self.name}: {place}"
"""


@pytest.fixture
def module() -> Any:
    """A module with a function and a class."""
    made = ModuleType("a_module_of_tools")
    sys.modules[made.__name__] = made
    exec(SOURCE, vars(made))
    yield made
    del sys.modules[made.__name__]


def properties(tool: FunctionTool) -> dict[str, Any]:
    return tool.schema.get("parameters", {"properties": {}})["properties"]


def run(tool: FunctionTool, **arguments: Any) -> Any:
    return tool.run_json(arguments, CancellationToken())


def test_a_function_of_a_module_is_looked_at_once_for_each_name_of_a_tool(module):
    one, other = FunctionTool(module.tool, "One."), FunctionTool(module.tool, "Another.")
    assert one.args_type() is other.args_type()
    assert FunctionTool(module.tool, name="found").args_type().__name__ == "foundargs"
    assert (one.description, other.description) == ("One.", "Another.")


def test_tools_of_one_function_do_not_share_their_schema(module):
    one, other = FunctionTool(module.tool), FunctionTool(module.tool)
    properties(one)["place"]["description"] = "changed"
    required: Any = one.schema.get("parameters", {}).get("required")
    required.append("more")
    assert properties(other)["place"]["description"] == "place"
    assert list(other.schema.get("parameters", {}).get("required", ())) == ["place"]


def test_a_function_that_was_changed_is_looked_at_again(module):
    FunctionTool(module.tool)
    module.tool.__annotations__["place"] = Literal["here", "there"]
    assert properties(FunctionTool(module.tool))["place"]["enum"] == ["here", "there"]
    module.tool.__defaults__ = (7,)
    assert properties(FunctionTool(module.tool))["count"]["default"] == 7
    before = module.tool
    exec(SOURCE.replace("place: str, count", "town: str, count"), vars(module))
    assert set(properties(FunctionTool(module.tool))) == {"town", "count"}
    assert set(properties(FunctionTool(before))) == {"place", "count"}


def test_a_function_whose_decorated_one_was_changed_is_looked_at_again(module):
    @wraps(module.tool)
    def decorated(*args: Any, **more: Any) -> str:
        return module.tool(*args, **more)

    assert properties(FunctionTool(decorated))["count"]["default"] == 1
    module.tool.__defaults__ = (7,)
    assert properties(FunctionTool(decorated))["count"]["default"] == 7


def test_a_function_whose_defaults_were_exchanged_is_looked_at_again(module):
    exec("def tool(*, one: int = 1, two: int = 2) -> int:\n    return one", vars(module))
    FunctionTool(module.tool, "A tool.")
    module.tool.__kwdefaults__ = {"two": 1, "one": 2}
    assert properties(FunctionTool(module.tool, "A tool."))["one"]["default"] == 2


async def test_methods_and_partials_stay_those_of_their_own_object(module):
    for name in ("Ann", "Ben"):
        assert await run(FunctionTool(module.Desk(name).tool), place="x") == f"{name}: x"
    for count in (2, 3):
        tool = FunctionTool(partial(module.tool, count=count), "A tool.")
        assert set(properties(tool)) == {"place"}
        assert await run(tool, place="x") == f"x {count}"
    unbound = FunctionTool(module.tool, name="tool")
    assert set(properties(unbound)) == {"place", "count"}


async def test_functions_that_are_made_for_each_thread_keep_their_own_types():
    def make(word: str) -> FunctionTool:
        def tool(place: str) -> str:
            return word + place

        tool.__annotations__["place"] = Literal[word]  # pyright: ignore[reportInvalidTypeForm]
        return FunctionTool(tool)

    assert [properties(make(word))["place"]["const"] for word in ("a", "b")] == ["a", "b"]
    assert await run(make("a"), place="a") == "aa"


def test_a_function_is_not_kept_by_its_signature(module):
    FunctionTool(module.tool)
    function = weakref.ref(module.tool)
    del module.tool
    gc.collect()
    assert function() is None
