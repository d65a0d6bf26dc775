"""Messages as rows of a block."""

from __future__ import annotations

from datetime import UTC, datetime

from teams._snapshot.block import BLOCK, Rows, block_of, message_of, write_blocks
from teams.messages import StopMessage, TextMessage
from teams.models import AssistantMessage, RequestUsage, UserMessage

TIME = datetime(2025, 7, 1, 10, 20, 30, 5, tzinfo=UTC)


def text(number: int, **fields: object) -> TextMessage:
    given = {"id": f"id-{number}", "source": "al", "content": f"{number}?", "created_at": TIME}
    return TextMessage.model_validate(given | fields)


USED = text(1, models_usage=RequestUsage(7, 2))
MARKED = text(2, metadata={"key": "value"})
STOP = StopMessage(content="enough", source="bo")
PLAIN = text(4)


def rows() -> Rows:
    [block] = write_blocks([USED, MARKED, STOP, PLAIN])
    return Rows([(10, block)])


def test_texts_are_rows_and_the_rest_is_data():
    [block] = write_blocks([USED, MARKED, STOP, PLAIN])
    assert (block.count, dict(block.others)) == (4, {"StopMessage": [2]})
    found = rows()
    assert found.with_text == {10, 11, 13}
    assert StopMessage.load(found.data(12)) == STOP
    assert found.texts([13, 10, 11]) == [PLAIN, USED, MARKED]


def test_a_row_makes_the_messages_of_models():
    [user], [answer] = rows().users([13]), rows().answers([10])
    assert user == UserMessage(content="4?", source="al")
    assert answer == AssistantMessage(content="1?", source="al")
    assert (user.origin(), answer.origin()) == ("id-4", "id-1")


def test_many_messages_are_several_blocks():
    blocks = write_blocks([text(number) for number in range(BLOCK + 1)])
    assert [block.count for block in blocks] == [BLOCK, 1]
    found = Rows([(0, blocks[0]), (BLOCK, blocks[1])])
    assert [each.content for each in found.texts([0, BLOCK])] == ["0?", f"{BLOCK}?"]


def test_a_row_tells_the_data_of_its_message():
    assert message_of({"type": "Ping"}) == {"type": "Ping"}
    assert message_of(["1", "al", "hi", "2025"]) == {
        "id": "1",
        "source": "al",
        "content": "hi",
        "metadata": {},
    }
    marked = message_of(["1", "al", "hi", "2025", None, None, {"key": "value"}])
    assert marked["metadata"] == {"key": "value"}


def test_rows_can_be_put_together_anew():
    block = block_of([["1", "al", "hi", "2025-07-01T10:20:30Z"], {"type": "Ping"}])
    assert (block.count, dict(block.others)) == (2, {"Ping": [1]})
    [said] = Rows([(0, block)]).texts([0])
    assert said.to_text() == "hi"
