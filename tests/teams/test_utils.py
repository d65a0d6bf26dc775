import base64

from teams.core import FunctionCall, Image
from teams.models import AssistantMessage, FunctionExecutionResult, SystemMessage, UserMessage
from teams.utils import content_to_str, remove_images

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
