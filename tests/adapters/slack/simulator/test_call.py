"""Calls of the Web API, and the table of its methods."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from adapters.slack.simulator.call import METHODS, Call, method
from adapters.slack.simulator.errors import ApiError

WORLD: Any = SimpleNamespace(
    workspaces={"T1": "the workspace"}, bot=lambda workspace: SimpleNamespace(id="UBOT")
)


def call(**arguments: Any) -> Call:
    return Call(world=WORLD, method="x.y", arguments=arguments, workspace_id="T1")


def test_arguments_are_read_as_what_they_should_be() -> None:
    found = call(a="hi", n="5", on="true", list='[{"b": 1}]', table={"c": 2})
    assert (found.text("a"), found.text("none", "-"), found.text("table")) == (
        "hi",
        "-",
        '{"c": 2}',
    )
    assert found.need("a") == "hi"
    assert (found.number("n", 1), found.number("none", 1)) == (5, 1)
    assert (found.flag("on"), found.flag("a")) == (True, False)
    assert found.value("list") == [{"b": 1}]
    assert found.items("list", "invalid_list") == [{"b": 1}]


def test_arguments_that_are_not_are_refused() -> None:
    found = call(a="hi", table="{}")
    for refused in (
        lambda: found.need("none"),
        lambda: found.number("a", 1),
        lambda: found.value("a"),
        lambda: found.items("table", "invalid_list"),
    ):
        with pytest.raises(ApiError):
            refused()


def test_a_call_is_about_a_workspace_and_its_bot() -> None:
    found = call()
    assert (found.workspace, found.bot) == ("the workspace", "UBOT")
    with pytest.raises(ApiError, match="not_authed"):
        assert found.grant
    grant = cast("Any", object())
    found.grant = grant
    assert found.grant is grant


def test_a_method_is_registered_with_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "conversations.history"
    monkeypatch.delitem(METHODS, name, raising=False)

    @method(name, "channels:history", per_minute=50)
    def history(call: Call) -> dict[str, Any]:
        return {}

    found = METHODS[name]
    assert (found.handler, found.scopes) == (history, ("channels:history",))
    assert found.rate(outside_marketplace=False) == 50
    assert found.rate(outside_marketplace=True) == 1
    with pytest.raises(ValueError, match=r"there is a method conversations\.history"):
        method(name, "channels:history")(history)
