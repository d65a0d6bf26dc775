"""An agent's replies by its model, and their usage."""

import json
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from teams.conversable import ConversableAgent, gather_usage_summary
from teams.conversable._oai_reply import ModelMixin
from teams.models import ModelError
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import Call, Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import agent

TOOL = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}


class Bare(ModelMixin):
    def __init__(self, llm_config: Any, system_message: Any = "Be kind.") -> None:
        self._name = "al"
        self._oai_messages = defaultdict(list)
        self._unmet = {}
        self._oai_system_message = [{"role": "system", "content": system_message}]
        self._begin_models(llm_config)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


def config(server: FakeOpenAI, **settings: Any) -> dict[str, Any]:
    connection = {"model": "gpt-4o", "api_key": "sk-of-a-test", "base_url": server.url}
    return {**connection, "price": [1, 1], **settings}


def answering(extracted: Any) -> Any:
    """A client that answers with this."""
    return SimpleNamespace(
        create=lambda **_: None, extract_text_or_completion_object=lambda _: [extracted]
    )


def test_the_system_message_goes_first(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text=""))
    agent = Bare(config(server), [{"type": "text", "text": "Be kind."}])
    bo: Any = "bo"
    agent._oai_messages[bo].append({"role": "user", "content": "Hello", "name": "bo"})
    assert agent.generate_oai_reply(sender=bo) == (True, "hi")
    assert agent.generate_oai_reply([{"role": "user", "content": "?"}]) == (True, "")
    assert server.requests[0].messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello", "name": "bo"},
    ]


async def test_the_async_form_awaits(openai_server: FakeOpenAI) -> None:
    openai_server.script(Reply(text="hi"))
    agent = Bare(config(openai_server))
    asked = [{"role": "user", "content": "Hello"}]
    assert await agent.a_generate_oai_reply(asked) == (True, "hi")
    assert openai_server.requests[0].roles == ["system", "user"]


async def test_without_a_client_there_is_no_reply() -> None:
    agent = Bare(False)
    assert agent.generate_oai_reply([]) == (False, None)
    assert await agent.a_generate_oai_reply([]) == (False, None)
    assert agent.get_actual_usage() is agent.get_total_usage() is None


async def test_a_client_given_as_config_is_asked() -> None:
    agent = Bare(False)
    assert agent.generate_oai_reply([], config=answering("hi")) == (True, "hi")
    assert await agent.a_generate_oai_reply([], config=answering("hi")) == (True, "hi")


def test_tool_responses_stand_alone_and_a_persons_word_follows(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    response = {"role": "tool", "tool_call_id": "c1", "content": "5"}
    other = {**response, "tool_call_id": "c2"}
    history = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "5", "tool_responses": [response]},
        {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": "c2"}]},
        {"role": "user", "content": "Stop.", "tool_responses": [other]},
    ]
    Bare(config(server)).generate_oai_reply(history)
    assert server.requests[0].messages[1:] == [
        history[0],
        history[1],
        response,
        history[3],
        other,
        {"role": "user", "content": "Stop."},
    ]


def test_the_context_stays_in_the_message_and_is_not_sent(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    message = {"role": "user", "content": lambda context: context["a"], "context": {"a": "A"}}
    Bare(config(server)).generate_oai_reply([message])
    assert server.requests[0].last == {"role": "user", "content": "A"}
    assert message["context"] == {"a": "A"}


def test_calls_are_a_dict_with_clean_names(server: FakeOpenAI) -> None:
    server.script(Reply(calls=[Call(name="a.b" + "c" * 70, arguments="{}", id="c1")]))
    agent = Bare(config(server, tools=[TOOL]))
    _, reply = agent.generate_oai_reply([{"role": "user", "content": "Add."}])
    assert reply == {
        "content": None,
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "a_b" + "c" * 61, "arguments": "{}"},
            }
        ],
    }


def test_a_dict_is_cleaned_too() -> None:
    function = {"name": "a b", "arguments": ""}
    given = {"content": None, "tool_calls": [{"id": None, "type": None, "function": function}]}
    assert Bare(False).generate_oai_reply([], config=answering(given)) == (
        True,
        {"content": None, "tool_calls": [{"function": {"name": "a_b", "arguments": ""}}]},
    )
    legacy = {"content": None, "function_call": function}
    assert Bare(False).generate_oai_reply([], config=answering(legacy)) == (
        True,
        {"content": None, "function_call": {"name": "a_b", "arguments": ""}},
    )


def test_an_empty_answer_warns() -> None:
    with pytest.warns(UserWarning, match="empty"):
        assert Bare(False).generate_oai_reply([], config=answering(None)) == (False, None)


def test_the_client_follows_a_changed_config(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="hi"))
    agent = Bare(config(server))
    agent.generate_oai_reply([{"role": "user", "content": "?"}])
    assert agent.llm_config
    agent.llm_config["tools"] = [TOOL]
    agent._update_client()
    agent.generate_oai_reply([{"role": "user", "content": "?"}])
    assert [each.tools for each in server.requests] == [[], ["add"]]
    assert (agent.get_actual_usage() or {})["gpt-4o"]["total_tokens"] == 30


def test_usage_is_summed_over_agents(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi", usage=(1000, 500)), Reply(text="hi", usage=(1000, 0)))
    agents = [Bare(config(server)), Bare(config(server)), Bare(False)]
    assert gather_usage_summary(agents)["usage_including_cached_inference"] == {"total_cost": 0}
    for each in agents[:2]:
        each.generate_oai_reply([{"role": "user", "content": "?"}])
    model = {"cost": 2.5, "prompt_tokens": 2000, "completion_tokens": 500, "total_tokens": 2500}
    assert gather_usage_summary(agents) == {
        "usage_including_cached_inference": {"total_cost": 2.5, "gpt-4o": model},
        "usage_excluding_cached_inference": {"total_cost": 2.5, "gpt-4o": model},
    }


def test_usage_is_printed(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    server.script(Reply(text="hi", usage=(300, 200)))
    agent = Bare(config(server))
    agent.print_usage_summary()
    none_yet = "Agent 'al':\nNo usage summary. Please call \"create\" first.\n"
    assert capsys.readouterr().out == none_yet
    agent.generate_oai_reply([{"role": "user", "content": "?"}])
    agent.print_usage_summary("total")
    line = "-" * 100
    told = (
        "Total cost: 0.5\n"
        "* Model 'gpt-4o': cost: 0.5, prompt_tokens: 300, completion_tokens: 200, "
        "total_tokens: 500\n"
    )
    assert capsys.readouterr().out == (
        f"Agent 'al':\n{line}\nUsage summary including cached usage: \n{told}{line}\n"
    )
    agent.print_usage_summary()
    assert capsys.readouterr().out == (
        f"Agent 'al':\n{line}\nUsage summary excluding cached usage: \n{told}"
        "All completions are non-cached: the total cost with cached completions is the same as "
        f"actual cost.\n{line}\n"
    )
    with pytest.raises(ValueError, match="Invalid mode"):
        agent.print_usage_summary("daily")


def test_an_agent_without_models_has_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    Bare(False).print_usage_summary()
    assert capsys.readouterr().out == "No cost incurred from agent 'al'.\n"


def test_clearing_forgets_the_usage(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    agent = Bare(config(server))
    agent.generate_oai_reply([{"role": "user", "content": "?"}])
    assert agent.client is not None
    agent.client.clear_usage_summary()
    assert agent.get_total_usage() is agent.get_actual_usage() is None


def test_a_model_client_is_registered_with_the_agent() -> None:
    class Mine:
        def __init__(self, config: dict[str, Any]) -> None:
            self.config = config

    agent = Bare({"model_client_cls": "Mine"})
    agent.register_model_client(Mine)
    with pytest.raises(ValueError, match='Model client "Mine" is being registered'):
        Bare(False).register_model_client(Mine)


def test_a_new_system_message_is_in_the_next_request(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="hi"))
    al = agent("al", llm_config=config(server), system_message="", context_variables={"a": "b"})
    al.generate_reply([{"role": "user", "content": "?"}])
    al.update_system_message("Be brief.")
    al.generate_reply([{"role": "user", "content": "?"}])
    systems = [request.messages[0] for request in server.requests]
    assert [each["content"] for each in systems] == ["", "Be brief."]
    assert "context_variables" not in server.requests[0].body


def test_the_client_gets_the_chat_s_cache_and_the_agent() -> None:
    asked: list[dict[str, Any]] = []
    client = SimpleNamespace(
        create=lambda **request: asked.append(request),
        extract_text_or_completion_object=lambda _: ["x"],
    )
    agent, message = Bare(False), {"role": "user", "content": "?", "context": {"a": 1}}
    agent.client_cache = cache = cast("Any", object())
    agent.generate_oai_reply([message], config=client)
    assert asked == [
        {
            "messages": [{"role": "system", "content": "Be kind."}, message],
            "context": {"a": 1},
            "cache": cache,
            "agent": agent,
        }
    ]


def test_an_error_leaves_the_chat_and_the_messages_stay(server: FakeOpenAI) -> None:
    server.script(Fail(status=401, message="No."))
    al, bo = agent("al"), agent("bo", llm_config=config(server))
    with pytest.raises(ModelError, match="No"):
        al.initiate_chat(bo, message="hi", silent=True)
    for messages in (al.chat_messages[bo], bo.chat_messages[al]):
        assert [message["content"] for message in messages] == ["hi"]


def test_a_config_may_be_assigned_and_is_followed_by_signatures(server: FakeOpenAI) -> None:
    al = agent("al")
    al.llm_config = config(server)
    al.update_tool_signature(TOOL, is_remove=False)
    assert al.llm_config == {**config(server), "tools": [TOOL]}
    server.script(Reply(text="hi"))
    assert al.generate_reply([{"role": "user", "content": "?"}]) == "hi"
    assert server.requests[0].tools == ["add"]


def test_reset_forgets_the_usage(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    al = agent("al", llm_config=config(server))
    al.generate_reply([{"role": "user", "content": "?"}])
    assert al.get_total_usage()
    al.reset()
    assert al.get_total_usage() is al.get_actual_usage() is None


def test_a_later_context_refreshes_earlier_contents(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="hi"))
    al, bo = agent("al", default_auto_reply=None), agent("bo", llm_config=config(server))
    link = {"content": lambda context: context["word"], "context": {"word": "first"}}
    al.send(link, bo, request_reply=True, silent=True)
    al.send({"content": "?", "context": {"word": "second"}}, bo, request_reply=True, silent=True)
    sent = [[each["content"] for each in request.messages[1:]] for request in server.requests]
    assert sent == [["first"], ["second", "hi", "?"]]


class Hostile:
    """A client of somebody's own, which answers what its entry says."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.says: Any = config["says"]
        Hostile.asked = []

    def create(self, params: dict[str, Any]) -> Any:
        self.asked.append(params["messages"])
        return SimpleNamespace(choices=[], model="mine")

    def message_retrieval(self, response: Any) -> list[Any]:
        return [self.says]

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> None:
        return None

    asked: ClassVar[list[Any]]


def hostile(says: Any) -> ConversableAgent:
    config = {"config_list": [{"model_client_cls": "Hostile", "says": says}]}
    agent = ConversableAgent("agent", llm_config=config, human_input_mode="NEVER")
    agent.register_model_client(Hostile)
    return agent


def asks(*calls: Any, content: str | None = None) -> dict[str, Any]:
    made = [{"id": f"c{n}", "type": "function", "function": call} for n, call in enumerate(calls)]
    return {"content": content, "tool_calls": made}


HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("says", "heard"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        (
            asks({"name": "send", "arguments": '{"to": "\udc00"}'}, content="\ud83d"),
            asks({"name": "send", "arguments": '{"to": "\ufffd"}'}, content="\ufffd"),
        ),
        (
            {**asks({"name": "send", "arguments": "{}"}), "reasoning": ["\udc00"]},
            {**asks({"name": "send", "arguments": "{}"}), "reasoning": ["\ufffd"]},
        ),
        (
            {"content": None, "function_call": {"name": "send", "arguments": "\ud83d"}},
            {"content": None, "function_call": {"name": "send", "arguments": "\ufffd"}},
        ),
    ],
)
def test_what_a_custom_client_says_is_whole_text(says: Any, heard: Any):
    assert hostile(says).generate_oai_reply(HELLO) == (True, heard)


def test_a_custom_clients_arguments_have_a_size():
    large = {"name": "send", "arguments": json.dumps({"to": "x" * 1_000_000})}
    _, heard = hostile(asks(large)).generate_oai_reply(HELLO)
    assert isinstance(heard, dict)
    left_out = heard["tool_calls"][0]["function"]["arguments"]
    assert left_out == '"Left out: arguments of 1,000,010 bytes, of at most 1,000,000."'


async def test_the_last_result_says_how_many_calls_were_left_out():
    made: list[str] = []

    def send(to: str) -> str:
        made.append(to)
        return "sent"

    caller = hostile(asks(*[{"name": "send", "arguments": '{"to": "x"}'}] * 70))
    executor = ConversableAgent("executor", llm_config=False, human_input_mode="NEVER")
    executor.register_for_execution()(send)
    caller.send(HELLO[0], executor, request_reply=False, silent=True)
    executor.send("go", caller, request_reply=False, silent=True)
    reply = caller.generate_reply(sender=executor)
    assert reply is not None
    caller.send(reply, executor, request_reply=False, silent=True)
    results = executor.generate_reply(sender=caller)
    assert isinstance(results, dict)
    assert len(made) == 64
    responses = [each["content"] for each in results["tool_responses"]]
    said = "(6 more calls of this answer were left out: at most 64 are made.)"
    assert responses == [*["sent"] * 63, f"sent\n\n{said}"]
    executor.send(results, caller, request_reply=False, silent=True)
    caller.generate_reply(sender=executor)
    assert "left_out" not in json.dumps(Hostile.asked)
