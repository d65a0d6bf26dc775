import base64
from typing import Any

import pytest

from teams.core import FunctionCall, Image
from teams.models import AssistantMessage, FunctionExecutionResult, SystemMessage, UserMessage
from teams.utils import content_to_str, extract_json_from_str, remove_images

PIXEL = Image.from_bytes(base64.b64decode("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="))


def test_content_is_text_part_by_part() -> None:
    assert content_to_str("hi") == "hi"
    assert content_to_str(["see", PIXEL, "there"]) == "see\n<image>\nthere"
    assert "look" in content_to_str([FunctionCall(id="1", arguments="{}", name="look")])
    result = FunctionExecutionResult(content="a cat", name="look", call_id="1")
    assert "a cat" in content_to_str([result])


def test_only_messages_with_parts_change_when_images_are_removed() -> None:
    system = SystemMessage(content="be brief")
    plain = UserMessage(content="hi", source="user")
    seen = UserMessage(content=["see", PIXEL], source="user")
    answer = AssistantMessage(content="ok", source="a")
    cleaned = remove_images([system, plain, seen, answer])
    assert cleaned == [system, plain, UserMessage(content="see\n<image>", source="user"), answer]
    assert [cleaned[0], cleaned[1], cleaned[3]] == [system, plain, answer]
    assert cleaned[1] is plain
    assert seen.content == ["see", PIXEL]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('I think {so}: {"a": {"b": "}"}} and {"c": [1]}.', [{"a": {"b": "}"}}, {"c": [1]}]),
        ('{"a": 1}\n```json\n{"b": 2}\n```\n```\n{"c": 3}\n```', [{"b": 2}, {"c": 3}]),
        ('```python\nx = {"a": 1}\n```\n{"b": 2}', [{"a": 1}, {"b": 2}]),
        ('```json\nnothing\n```\nbut {"a": 1}', [{"a": 1}]),
        ('  ```JSON title\n  {"a":\n 1}\n  ```  ', [{"a": 1}]),
    ],
    ids=["alone", "in text", "fenced", "other language", "empty fence", "indented"],
)
def test_json_is_found_in_what_models_write(text: str, found: list[dict[str, Any]]) -> None:
    assert extract_json_from_str(text) == found


@pytest.mark.parametrize("text", ["", "no json", "[1, 2]", '{"a": ', "{" * 10_000])
def test_text_without_json_objects_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        extract_json_from_str(text)
