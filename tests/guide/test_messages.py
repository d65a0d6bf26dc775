"""The page on messages: built-in, internal and custom ones."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, BaseChatAgent
from teams.base import Response
from teams.core import CancellationToken, Image
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    MessageFactory,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from teams.models import UserMessage
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, goes_on_alike, watch
from tests.guide.test_agents import RED_DOT


def test_a_text_message_is_dumped_and_loaded():
    message = TextMessage(content="Hello!", source="visitor")
    data = message.dump()
    assert {**data, "id": "", "created_at": ""} == {
        "id": "",
        "source": "visitor",
        "models_usage": None,
        "metadata": {},
        "created_at": "",
        "content": "Hello!",
        "type": "TextMessage",
    }
    assert TextMessage.load(data) == message
    assert MessageFactory().create(data) == message


def test_a_multi_modal_message_holds_texts_and_images():
    image = Image.from_base64(RED_DOT)
    message = MultiModalMessage(content=["What is it?", image], source="visitor")
    assert message.to_text() == "What is it?\n<image>"
    assert message.to_model_text() == "What is it? [image]"
    loaded = MultiModalMessage.load(message.dump())
    assert isinstance(loaded.content[1], Image)
    assert loaded.content[1].to_base64() == image.to_base64()


class Place(BaseModel):
    town: str
    degrees: float


def test_a_structured_message_is_typed_by_its_content():
    message = StructuredMessage[Place](
        content=Place(town="Ulm", degrees=7.5),
        source="thermometer",
        format_string="{town}: {degrees} degrees",
    )
    assert message.type == "StructuredMessage[Place]"
    assert message.to_text() == "Ulm: 7.5 degrees"
    assert message.to_model_message().content == '{"town":"Ulm","degrees":7.5}'


class Reading(BaseChatMessage):
    """A message type of one's own."""

    degrees: float
    type: Literal["Reading"] = "Reading"

    def to_text(self) -> str:
        return f"{self.degrees} degrees"

    def to_model_text(self) -> str:
        return self.to_text()

    def to_model_message(self) -> UserMessage:
        return UserMessage(content=self.to_text(), source=self.source)


class Measured(BaseAgentEvent):
    """An event of one's own: people see it, other agents do not."""

    times: int
    type: Literal["Measured"] = "Measured"

    def to_text(self) -> str:
        return f"measured {self.times} times"


class Thermometer(BaseChatAgent):
    """Gives a reading, and counts its measurements in an event."""

    def __init__(self) -> None:
        super().__init__("thermometer", "Measures.")
        self._times = 0

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (Reading,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self._times += 1
        return Response(
            chat_message=Reading(degrees=self._times * 10, source=self.name),
            inner_messages=[Measured(times=self._times, source=self.name)],
        )

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._times = 0

    async def save_state(self) -> Mapping[str, Any]:
        return {"times": self._times}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._times = state["times"]


def weather_station(model) -> RoundRobinGroupChat:
    reporter = AssistantAgent("reporter", model, system_message="You report.")
    return RoundRobinGroupChat(
        [Thermometer(), reporter], max_turns=2, custom_message_types=[Reading, Measured]
    )


async def test_types_of_ones_own_pass_through_a_team_and_its_state(openai_server, model):
    openai_server.script(Reply(text="It is cold."))
    team = weather_station(model)

    run = await watch(team.run_stream(task="The weather?"))

    assert run.trace == [
        ("TextMessage", "user"),
        ("Measured", "thermometer"),
        ("Reading", "thermometer"),
        ("TextMessage", "reporter"),
    ]
    assert conversations(openai_server) == [
        ["system: You report.", "user[user]: The weather?", "user[thermometer]: 10.0 degrees"]
    ]
    again = await goes_on_alike(
        team,
        weather_station,
        openai_server,
        Reply(text="It is warm."),
        task="And now?",
    )
    assert again.texts == ["And now?", "measured 2 times", "20.0 degrees", "It is warm."]
