"""The messages agents send each other."""

import copy
import pickle
from typing import Any

import pytest
from pydantic import BaseModel

from teams._messages.chat import (
    FINISH,
    dump_texts,
    ended,
    ended_by,
    finish_of,
    text_answer,
    texts_of,
)
from teams._messages.factory import stream_chunk
from teams.core import Image
from teams.messages import (
    BaseChatMessage,
    MessageFactory,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from teams.models import CreateResult, RequestUsage, UserMessage
from teams.models._types import FinishReasons

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


class Weather(BaseModel):
    city: str
    degrees: int


class TestMultiModal:
    message = MultiModalMessage(content=["see", Image.from_base64(PIXEL), "there"], source="user")

    def test_text_shows_an_image_by_name_or_inline(self) -> None:
        assert self.message.to_text() == "see\n<image>\nthere"
        assert f"File=inline=1:{PIXEL}\a" in self.message.to_text(iterm=True)

    def test_model_text_shows_a_placeholder_or_the_data(self) -> None:
        assert self.message.to_model_text() == "see [image]there"
        assert self.message.to_model_text(image_placeholder="(pic)") == "see (pic)there"
        assert self.message.to_model_text(image_placeholder=None) == f"see {PIXEL}there"


class TestStructured:
    def test_text_is_json_or_follows_the_format(self) -> None:
        content = Weather(city="Oslo", degrees=3)
        plain = StructuredMessage[Weather](content=content, source="a")
        formatted = StructuredMessage[Weather](
            content=content, source="a", format_string="{degrees} degrees in {city}"
        )
        assert plain.to_text() == plain.to_model_text() == '{"city":"Oslo","degrees":3}'
        assert formatted.to_text() == formatted.to_model_text() == "3 degrees in Oslo"

    def test_type_is_the_parametrised_name(self) -> None:
        message = StructuredMessage[Weather](content=Weather(city="", degrees=0), source="a")
        assert message.type == message.dump()["type"] == "StructuredMessage[Weather]"

    def test_wrong_content_is_refused(self) -> None:
        with pytest.raises(ValueError, match="degrees"):
            StructuredMessage[Weather].load({"source": "a", "content": {"city": "Oslo"}})


class TestAnsweredText:
    def test_is_like_a_validated_message(self) -> None:
        said = text_answer("hi", "writer", RequestUsage(1, 2), "1")
        validated = TextMessage(
            id="1",
            created_at=said.created_at,
            content="hi",
            source="writer",
            models_usage=RequestUsage(1, 2),
        )
        assert said == validated
        assert said.dump() == validated.dump() == said.model_dump(mode="json")
        assert repr(said) == repr(validated)
        assert said.model_fields_set == validated.model_fields_set
        assert MessageFactory().create(said.dump()) == said
        assert pickle.loads(pickle.dumps(said)) == copy.deepcopy(said) == said.model_copy() == said

    def test_what_is_changed_before_it_is_sent_reaches_the_model(self) -> None:
        said = text_answer("hi", "writer", None, "1")
        before = said.to_model_message()
        said.content = "bye"
        said.metadata["seen"] = "yes"
        assert said.dump()["content"] == said.to_model_message().content == "bye"
        assert (before.content, said.dump()["metadata"]) == ("hi", {"seen": "yes"})
        assert said.model_copy(update={"content": "again"}).to_model_message().content == "again"
        assert text_answer("hi", "writer", None, "2").metadata == {}

    def test_shares_nothing_with_its_siblings(self) -> None:
        one, other = (stream_chunk(text, "writer", None) for text in "ab")
        one.metadata["key"] = "value"
        one.source = "else"
        assert one.id != other.id
        assert (other.metadata, other.source, other.content) == ({}, "writer", "b")


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (MultiModalMessage(content=["look"], source="a"), ["look"]),
        (
            StructuredMessage[Weather](content=Weather(city="Oslo", degrees=3), source="a"),
            '{"city":"Oslo","degrees":3}',
        ),
    ],
    ids=["parts", "structured"],
)
def test_a_model_is_given_the_content(message: BaseChatMessage, content: Any) -> None:
    assert message.to_model_message() == UserMessage(content=content, source="a")


def answered(finish: FinishReasons, *, refused: bool = False) -> CreateResult:
    usage = RequestUsage(1, 2)
    answer = CreateResult(finish_reason=finish, content="hi", usage=usage, cached=False)
    if refused:
        answer.mark_refused()
    return answer


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (answered("stop"), ""),
        (answered("length"), "length"),
        (answered("content_filter"), "content_filter"),
        (answered("content_filter", refused=True), "refusal"),
    ],
    ids=["whole", "cut", "filtered", "refused"],
)
def test_an_end_that_left_something_unsaid_is_in_the_metadata(
    answer: CreateResult, finish: str
) -> None:
    said = TextMessage(content="hi", source="a", metadata={"key": "value"})
    told = {"key": "value", **({FINISH: finish} if finish else {})}
    assert finish_of(answer) == finish
    assert ended(said, answer).metadata == ended_by(said, finish).metadata == told
    assert said.metadata == {"key": "value"}


def test_texts_are_made_of_columns_and_dumped_side_by_side() -> None:
    said = [TextMessage(content=each, source="a", models_usage=RequestUsage(1, 2)) for each in "xy"]
    names = ("id", "source", "models_usage", "metadata", "created_at", "content")
    columns = {name: [getattr(each, name) for each in said] for name in names}
    assert texts_of(columns) == said
    assert dump_texts(said) == [each.dump() for each in said]
