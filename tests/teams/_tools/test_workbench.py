"""Results of calls, and the promises of a workbench's tools."""

from __future__ import annotations

import pytest

from teams._tools.workbench import LARGEST_PICTURE, MOST_PICTURES, text_result
from teams.core import Image
from teams.tools import FunctionTool, StaticWorkbench, ToolResult, ToolTraits, Workbench
from tests.teams._base.test_image import PNG


def test_a_result_shows_its_parts_line_by_line():
    result = text_result("look", "a cat", images=[Image.from_bytes(PNG)])
    assert (result.name, result.is_error) == ("look", False)
    assert result.to_text() == "a cat\n[image]"
    assert result.to_text(replace_image="") == "a cat\n"
    assert text_result("look", "no", is_error=True).is_error
    assert ToolResult.model_validate_json(result.model_dump_json()) == result


class Sized(Image):
    """An image whose data would have this many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def to_base64(self) -> str:
        return "A" * (self.size * 4 // 3)


@pytest.mark.parametrize(
    ("images", "shown"),
    [
        ([], 0),
        ([Image.from_bytes(PNG)], 1),
        ([Image.from_bytes(PNG)] * (MOST_PICTURES + 1), MOST_PICTURES),
        ([Sized(LARGEST_PICTURE + 8), Sized(LARGEST_PICTURE - 8)], 1),
    ],
    ids=["none", "one", "too many", "too large"],
)
def test_a_model_sees_few_small_images(images: list[Image], shown: int):
    assert len(text_result("look", "", images=images).pictures()) == shown


def test_a_workbench_promises_nothing_unless_its_tools_do():
    def look(place: str) -> str:
        return place

    bench = StaticWorkbench([FunctionTool(look, "Look.", traits=ToolTraits(read_only=True))])
    assert bench.tool_traits("look").read_only
    assert Workbench.tool_traits(bench, "look") == ToolTraits()
