"""Components of messages and forms."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.discord.simulator.components import (
    complete_components,
    custom_ids,
    field_ids,
    find_component,
    referenced_files,
    walk,
)
from adapters.discord.simulator.errors import ApiError

BUTTON: dict[str, Any] = {"type": 2, "style": 1, "label": "Go", "custom_id": "go"}
ROW: dict[str, Any] = {"type": 1, "components": [BUTTON]}


def test_components_are_found_at_any_depth() -> None:
    section = {"type": 9, "components": [], "accessory": BUTTON}
    assert [each["type"] for each in walk([ROW, section])] == [1, 2, 9, 2]
    assert custom_ids([ROW]) == ["go"]
    assert find_component([ROW], "Go") == find_component([ROW], "go") == BUTTON
    assert find_component([ROW], "none") is None


def test_components_get_ids_and_are_checked() -> None:
    [row] = complete_components([ROW], v2=False)
    assert row["id"] != row["components"][0]["id"]
    for wrong in ([BUTTON], [ROW] * 6, [{**ROW, "components": [BUTTON, BUTTON]}]):
        with pytest.raises(ApiError):
            complete_components(wrong, v2=False)


def test_own_files_are_referenced_by_their_names() -> None:
    value = [{"media": {"url": "attachment://a.png"}}, {"url": "https://x.example/b.png"}]
    assert [*referenced_files(value)] == ["a.png"]


def test_fields_of_a_form_are_known_by_their_labels() -> None:
    labelled = {"type": 18, "label": "Why?", "component": {"type": 4, "custom_id": "note"}}
    old = {"type": 1, "components": [{"type": 4, "label": "Name", "custom_id": "name"}]}
    assert field_ids({"components": [labelled, old]}) == {"Why?": "note", "Name": "name"}
