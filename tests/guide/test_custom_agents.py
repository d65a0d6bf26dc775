"""The page on custom agents: counting down, calculating, asking a model."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Self

from openai import AsyncOpenAI
from pydantic import BaseModel

from teams import RoundRobinGroupChat, SelectorGroupChat
from teams.agents import AssistantAgent, BaseChatAgent
from teams.base import Response
from teams.conditions import MaxMessageTermination, TextMentionTermination
from teams.core import CancellationToken, Component
from teams.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, goes_on_alike, watch


class Countdown(BaseChatAgent):
    """Counts down in messages of its own before it answers."""

    def __init__(self, name: str, count: int = 3) -> None:
        super().__init__(name, "Counts down.")
        self._count = count

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        async for item in self.on_messages_stream(messages, cancellation_token):
            if isinstance(item, Response):
                return item
        raise AssertionError("The stream has a response.")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        inner: list[BaseAgentEvent | BaseChatMessage] = []
        for number in range(self._count, 0, -1):
            inner.append(TextMessage(content=f"{number}...", source=self.name))
            yield inner[-1]
        done = TextMessage(content="Lift-off!", source=self.name)
        yield Response(chat_message=done, inner_messages=inner)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


async def test_an_agent_streams_messages_of_its_own():
    run = await watch(Countdown("rocket").on_messages_stream([], CancellationToken()))
    assert run.texts == ["3...", "2...", "1..."]
    assert run.result.chat_message.to_text() == "Lift-off!"


async def test_an_agent_of_ones_own_runs_like_any_other():
    run = await watch(Countdown("rocket", 2).run_stream(task="Go."))
    assert run.trace == [("TextMessage", "user"), *[("TextMessage", "rocket")] * 3]
    assert run.texts == ["Go.", "2...", "1...", "Lift-off!"]


class Arithmetic(BaseChatAgent):
    """Applies one operation to the latest number it was given."""

    def __init__(self, name: str, description: str, operation: Callable[[int], int]) -> None:
        super().__init__(name, description)
        self._operation = operation
        self._heard: list[str] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self._heard += [message.to_text() for message in messages]
        result = str(self._operation(int(self._heard[-1])))
        self._heard.append(result)
        return Response(chat_message=TextMessage(content=result, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._heard.clear()

    async def save_state(self) -> Mapping[str, Any]:
        return {"heard": self._heard}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._heard = list(state["heard"])


def adder(name: str = "add") -> Arithmetic:
    return Arithmetic(name, "Adds one.", lambda number: number + 1)


async def test_an_agent_keeps_what_it_needs_to_be_called_without_messages():
    agent = adder()
    task = TextMessage(content="10", source="user")
    first = await agent.on_messages([task], CancellationToken())
    second = await agent.on_messages([], CancellationToken())
    assert [first.chat_message.to_text(), second.chat_message.to_text()] == ["11", "12"]


CALCULATOR_PROMPT = "Operations:\n{roles}\nSo far:\n{history}\nName one of {participants}."


def calculator(model) -> SelectorGroupChat:
    return SelectorGroupChat(
        [
            adder(),
            Arithmetic("subtract", "Subtracts one.", lambda number: number - 1),
            Arithmetic("double", "Doubles.", lambda number: number * 2),
            Arithmetic("halve", "Halves, rounding down.", lambda number: number // 2),
            Arithmetic("keep", "Keeps the number.", lambda number: number),
        ],
        model_client=model,
        termination_condition=MaxMessageTermination(10),
        allow_repeated_speaker=True,
        selector_prompt=CALCULATOR_PROMPT,
    )


async def test_a_model_chooses_among_agents_of_ones_own(openai_server, model):
    def chosen(*names: str) -> list[Reply]:
        return [Reply(text=name) for name in names]

    task: list[BaseChatMessage] = [
        TextMessage(content="From 10 to 25, step by step.", source="user"),
        TextMessage(content="10", source="user"),
    ]
    steps = ["add", "add", "double", "add", "keep", "keep", "keep", "keep"]
    openai_server.script(*chosen(*steps))
    team = calculator(model)

    run = await watch(team.run_stream(task=task))

    assert run.trace == [
        *[("TextMessage", "user")] * 2,
        *[("TextMessage", name) for name in steps],
    ]
    assert run.texts[2:] == ["11", "12", "24", "25", "25", "25", "25", "25"]
    assert run.stop_reason == "Maximum number of messages 10 reached, current message count: 10"
    assert conversations(openai_server)[1] == [
        "system: Operations:\nadd: Adds one.\nsubtract: Subtracts one.\ndouble: Doubles.\n"
        "halve: Halves, rounding down.\nkeep: Keeps the number.\nSo far:\n"
        "user: From 10 to 25, step by step.\n\nuser: 10\n\nadd: 11\n"
        'Name one of ["add", "subtract", "double", "halve", "keep"].'
    ]
    again = await goes_on_alike(team, calculator, openai_server, *chosen(*["halve"] * 9), task="80")
    assert again.texts == ["80", "40", "20", "10", "5", "2", "1", "0", "0", "0"]


class HouseModelConfig(BaseModel):
    name: str
    description: str
    model: str
    base_url: str
    system_message: str | None = None


class HouseModelAgent(BaseChatAgent, Component[HouseModelConfig]):
    """Asks a model through another library, and can be dumped as JSON."""

    component_config_schema = HouseModelConfig
    component_provider_override = "tests.guide.test_custom_agents.HouseModelAgent"

    def __init__(
        self, name: str, description: str, model: str, base_url: str, system_message: str | None
    ) -> None:
        super().__init__(name, description)
        self._model = model
        self._base_url = base_url
        self._system_message = system_message
        self._history: list[dict[str, str]] = []

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        for message in messages:
            self._history.append({"role": "user", "content": message.to_model_text()})
        system = {"role": "system", "content": self._system_message or ""}
        asked: Any = [*([system] if self._system_message else []), *self._history]
        async with AsyncOpenAI(api_key="sk-own", base_url=self._base_url) as client:
            answer = await client.chat.completions.create(model=self._model, messages=asked)
        text = answer.choices[0].message.content or ""
        self._history.append({"role": "assistant", "content": text})
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._history.clear()

    async def save_state(self) -> Mapping[str, Any]:
        return {"history": self._history}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._history = list(state["history"])

    def _to_config(self) -> HouseModelConfig:
        return HouseModelConfig(
            name=self.name,
            description=self.description,
            model=self._model,
            base_url=self._base_url,
            system_message=self._system_message,
        )

    @classmethod
    def _from_config(cls, config: HouseModelConfig) -> Self:
        return cls(**config.model_dump())


def house_model(url: str) -> HouseModelAgent:
    return HouseModelAgent("singer", "Sings.", "gpt-4o", url, "You sing.")


def singer_and_critic(model) -> RoundRobinGroupChat:
    critic = AssistantAgent("critic", model, system_message="Criticise, or APPROVE.")
    url = model.dump_component().config["base_url"]
    return RoundRobinGroupChat(
        [house_model(url), critic], termination_condition=TextMentionTermination("APPROVE")
    )


async def test_an_agent_with_a_model_of_its_own_takes_part_in_a_team(openai_server, model):
    openai_server.script(
        Reply(text="La la."), Reply(text="Louder."), Reply(text="LA LA."), Reply(text="APPROVE")
    )
    team = singer_and_critic(model)

    run = await watch(team.run_stream(task="Sing."))

    assert run.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "singer"),
        ("TextMessage", "critic"),
        ("TextMessage", "singer"),
        ("TextMessage", "critic"),
    ]
    assert conversations(openai_server)[2] == [
        "system: You sing.",
        "user: Sing.",
        "assistant: La la.",
        "user: Louder.",
    ]
    again = await goes_on_alike(
        team,
        singer_and_critic,
        openai_server,
        Reply(text="Hum."),
        Reply(text="APPROVE"),
        task="Softer.",
    )
    assert again.trace == [
        ("TextMessage", "user"),
        ("TextMessage", "singer"),
        ("TextMessage", "critic"),
    ]


async def test_an_agent_of_ones_own_is_written_down_and_loaded(openai_server):
    dumped = house_model(openai_server.url).dump_component()
    assert dumped.provider == "tests.guide.test_custom_agents.HouseModelAgent"

    loaded = HouseModelAgent.load_component(dumped.model_dump())

    openai_server.script(Reply(text="La."))
    assert (await loaded.run(task="Sing.")).messages[-1].to_text() == "La."
    assert conversations(openai_server) == [["system: You sing.", "user: Sing."]]
