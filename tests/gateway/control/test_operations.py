"""Operations of a gateway over a socket, here and there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.control.operations import ANOTHER_VERSION, OPERATIONS, calls_operations
from gateway.errors import GatewayError
from gateway.store.records import MetTool, PairedPerson

MET = {"server": "files", "tool": "read", "digest": "d", "text": "t"}


class Owner:
    """A process that is asked, and answers."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    async def reload(self, *, dry_run: bool) -> str:
        self.asked.append(dry_run)
        return "reloaded"

    async def accept_tool(self, met: MetTool) -> bool:
        self.asked.append(met)
        return True


@calls_operations
class Line:
    """A connection that notes what is called, and answers with `found`."""

    def __init__(self, found: object) -> None:
        self.found = found
        self.called: list[tuple[str, Mapping[str, Any]]] = []

    async def call(self, operation: str, params: Mapping[str, Any]) -> Any:
        self.called.append((operation, params))
        return self.found


@pytest.mark.parametrize(
    ("operation", "params", "is_good"),
    [
        ("accept_tool", {"met": MET}, True),
        ("accept_tool", {"met": {**MET, "text": 1}}, False),
        ("reload", {"dry_run": True}, True),
        ("reload", {"dry_run": 1}, False),
        ("reload", {}, False),
        ("reload", {"dry_run": True, "more": 1}, False),
        ("threads", {}, True),
        ("threads", {"limit": -1}, False),
        ("restore", {"path": "/a"}, True),
        ("restore", {"path": "a"}, False),
    ],
)
def test_parameters_are_checked(operation: str, params: dict[str, Any], is_good: bool) -> None:
    parameters = OPERATIONS[operation].parameters
    if is_good:
        assert isinstance(parameters.model_validate_json(json.dumps(params)), parameters)
    else:
        with pytest.raises(ValidationError):
            parameters.model_validate_json(json.dumps(params))


async def test_an_operation_is_served_by_its_owner() -> None:
    owner: Any = Owner()
    assert await OPERATIONS["reload"].serve(owner, {"dry_run": True}) == "reloaded"
    met = MetTool(**MET)
    assert await OPERATIONS["accept_tool"].serve(owner, {"met": met}) is True
    assert owner.asked == [True, met]


async def test_a_method_of_a_caller_calls_its_operation() -> None:
    line: Any = Line({"id": "x:ann", "name": "Ann", "paired_at": 1.0})
    found = await OPERATIONS["reload"].call(Line("done"), dry_run=False)
    assert found == "done"
    assert isinstance(await line.pair("123"), PairedPerson)
    assert line.called == [("pair", {"code": "123"})]


async def test_an_answer_of_another_version_is_an_error() -> None:
    with pytest.raises(GatewayError, match=ANOTHER_VERSION[:30]):
        await OPERATIONS["reload"].call(Line({"odd": 1}), dry_run=False)
