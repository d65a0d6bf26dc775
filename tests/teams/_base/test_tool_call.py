"""Arguments of calls are bounded before they are parsed."""

import json
from time import process_time

import pytest

from teams._base.tool_call import ToolCall, parse_arguments
from teams.conversable._tool_values import read_arguments

MB = 1_000_000
COMMAS = json.dumps({"text": "a, [b], {c}," * 20_000})
TOO_MUCH = {
    "bytes": '{"a": "' + "x" * MB + '"}',
    "bytes of long characters": '{"a": "' + "ü" * (MB // 2) + '"}',
    "values of a list": json.dumps({"a": [1] * 10_000}),
    "values of an object": json.dumps({str(n): n for n in range(10_001)}),
    "lists": json.dumps({"a": [[]] * 10_000}),
    "nested values": json.dumps({"a": [{"b": [1, 2, 3]} for _ in range(4_000)]}),
    "levels": '{"a": ' * 101 + "1" + "}" * 101,
    "no JSON, but commas": "," * 900_000,
    "no JSON, but texts": '""' * 400_000,
    "no JSON, but an open text": '{"a": "' + "\\\\" * 400_000,
}


@pytest.mark.parametrize("read", [parse_arguments, read_arguments])
@pytest.mark.parametrize("arguments", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_is_too_much_is_refused_in_no_time(read, arguments):
    began = process_time()
    with pytest.raises(ValueError, match=r"arguments|Extra data|Unterminated"):
        read(arguments)
    assert process_time() - began < 0.5


@pytest.mark.parametrize("read", [parse_arguments, read_arguments])
@pytest.mark.parametrize(
    "given",
    [{}, {"a": [1] * 9_990}, json.loads(COMMAS), {"a": "x" * (MB - 10)}, {"a": [[[]]], "ü": "🍕"}],
    ids=["none", "values", "commas in a text", "bytes", "nested"],
)
def test_what_is_large_is_read(read, given):
    assert read(json.dumps(given, ensure_ascii=False)) == given


@pytest.mark.parametrize("read", [parse_arguments, read_arguments])
def test_halves_of_characters_in_escapes_are_made_whole(read):
    assert read(r'{"\ud83c": ["\ud83c\udf55", "a\udf55"], "b": {"c": "\ud83c"}}') == {
        "\ufffd": ["🍕", "a\ufffd"],
        "b": {"c": "\ufffd"},
    }


def test_a_call_with_too_much_has_no_arguments():
    call = ToolCall(key="1", id="1", name="f", arguments=TOO_MUCH["lists"], agent=("a",))
    assert call.parsed_arguments() is None
