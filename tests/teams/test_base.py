from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

import teams.base
from teams.base import (
    DurableTeam,
    Handoff,
    PendingInput,
    Response,
    TaskResult,
    TeamError,
    TerminatedException,
)
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    StopMessage,
    TextMessage,
    ThoughtEvent,
)


def test_every_public_name_is_listed_once_in_order() -> None:
    listed = teams.base.__all__
    assert listed == sorted(set(listed))
    assert all(hasattr(teams.base, name) for name in listed)


class TestHandoff:
    def test_fills_in_what_is_not_given(self) -> None:
        handoff = Handoff(target="Alice")
        assert handoff.name == "transfer_to_alice"
        assert handoff.description == "Handoff to Alice."
        assert handoff.message == ("Transferred to Alice, adopting the role of Alice immediately.")

    def test_keeps_what_is_given_through_json(self) -> None:
        handoff = Handoff(target="user", name="ask", description="Ask.", message="Over to you.")
        assert handoff.model_dump() == {
            "target": "user",
            "name": "ask",
            "description": "Ask.",
            "message": "Over to you.",
        }
        assert Handoff.model_validate_json(handoff.model_dump_json()) == handoff

    @pytest.mark.parametrize("fields", [{"target": "not a name"}, {"target": "a", "name": "1st"}])
    def test_needs_a_tool_name_that_is_an_identifier(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="must be an identifier"):
            Handoff(**fields)

    async def test_its_tool_takes_nothing_and_returns_the_message(self) -> None:
        tool = Handoff(target="Alice", description="Ask Alice.").handoff_tool
        schema = tool.schema
        assert schema["name"] == "transfer_to_alice"
        assert schema.get("description") == "Ask Alice."
        assert schema.get("strict") is True
        assert schema.get("parameters", {}).get("properties") == {}
        result = await tool.run_json({}, CancellationToken())
        assert tool.return_value_as_string(result) == (
            "Transferred to Alice, adopting the role of Alice immediately."
        )


class TestResults:
    def test_a_task_result_keeps_the_messages_themselves(self) -> None:
        messages = [TextMessage(content="hi", source="user"), ThoughtEvent(content="", source="a")]
        result = TaskResult(messages=messages)
        assert [*map(id, result.messages)] == [*map(id, messages)]
        assert result.stop_reason is None
        assert result.pending == ()

    def test_a_task_result_dumps_whole_messages_and_open_questions(self) -> None:
        message = StopMessage(content="enough", source="a")
        question = PendingInput(request_id="r", agent=("team", "user"), kind="text", prompt="Well?")
        result = TaskResult(messages=[message], stop_reason="Waiting", pending=[question])
        assert result.model_dump(mode="json") == {
            "messages": [message.dump()],
            "stop_reason": "Waiting",
            "pending": [
                {
                    "request_id": "r",
                    "agent": ["team", "user"],
                    "kind": "text",
                    "prompt": "Well?",
                    "call_id": None,
                }
            ],
        }

    def test_a_response_needs_no_inner_messages(self) -> None:
        response = Response(chat_message=TextMessage(content="hi", source="a"))
        assert response.inner_messages is None


@pytest.mark.parametrize("error", [TeamError, TerminatedException])
def test_errors_are_runtime_errors(error: type[Exception]) -> None:
    with pytest.raises(RuntimeError, match="why"):
        raise error("why")


def test_a_durable_team_is_told_by_what_it_can() -> None:
    class Runner:
        async def run(self, **arguments: Any) -> TaskResult:
            return TaskResult(messages=[])

        async def run_stream(
            self, **arguments: Any
        ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
            yield TaskResult(messages=[])

    class Durable(Runner):
        def add_messages(self, messages: Sequence[BaseChatMessage]) -> None: ...

        async def abandon_turn(self) -> None: ...

        async def save_snapshot(self) -> bytes:
            return b""

        async def save_delta(self) -> bytes:
            return b""

        async def load_snapshot(self, parts: Sequence[bytes]) -> None: ...

    assert isinstance(Durable(), DurableTeam)
    assert not isinstance(Runner(), DurableTeam)
