"""Models of a config list: requests, fall-over, custom clients, cache and cost."""

import asyncio
import logging
import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from teams.conversable import AbstractCache, Cache, OpenAIWrapper
from teams.conversable._chat_client import CHUNKS
from teams.models import BadRequest, ModelError, ModelRefused
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import Call, Fail, Fault, Reply
from tests.fakes.openai_server import FakeOpenAI

HELLO = [{"role": "user", "content": "Hello", "name": "al"}]
DOWN = Fail(status=500, headers={"x-should-retry": "false"})
TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Add.",
        "parameters": {"type": "object", "properties": {}},
    },
}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


def entry(server: FakeOpenAI, **settings: Any) -> dict[str, Any]:
    connection = {"model": "gpt-4o", "api_key": "sk-of-a-test", "base_url": server.url}
    return {**connection, "price": 0.1, **settings}


def wrapper(server: FakeOpenAI, *entries: dict[str, Any], **top: Any) -> OpenAIWrapper:
    return OpenAIWrapper(config_list=[entry(server, **each) for each in entries or [{}]], **top)


def said(wrapper: OpenAIWrapper, **config: Any) -> Any:
    response = wrapper.create(**{"messages": HELLO, **config})
    return wrapper.extract_text_or_completion_object(response)[0]


class Custom:
    """A model client; its entry says what it answers."""

    def __init__(self, config: dict[str, Any], **kwargs: Any) -> None:
        self.config, self.kwargs = config, kwargs
        self.asked: list[dict[str, Any]] = []
        Custom.made = self

    def create(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        if error := self.config.get("fails"):
            raise error
        message = SimpleNamespace(content=self.config.get("says", "hi"))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], model="mine")

    def message_retrieval(self, response: Any) -> list[Any]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        return 0.5

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "total_tokens": 5,
            "cost": 0.5,
            "model": response.model,
        }

    made: "Custom"


class Broken:
    """A cache whose disk is full."""

    def get(self, key: str, default: Any = None) -> Any:
        raise OSError("No space left on device")

    set = get

    def close(self) -> None:
        pass

    def __enter__(self) -> "Broken":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Shelf:
    """A cache in memory that counts its visits."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.entered = self.left = 0

    def get(self, key: str, default: Any = None) -> Any:
        return self.kept.get(key, default)

    def set(self, key: str, value: Any) -> None:
        self.kept[key] = value

    def close(self) -> None:
        self.left += 1

    def __enter__(self) -> "Shelf":
        self.entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Requests


def test_the_messages_and_every_unknown_key_are_the_request(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    options = {"temperature": 0.5, "tools": [TOOL], "functions": [], "top_k": 7}
    assert said(wrapper(server, options, max_retries=0, tags=["a"])) == "hi"
    assert server.requests[0].body == {
        "model": "gpt-4o",
        "messages": HELLO,
        "temperature": 0.5,
        "tools": [TOOL],
        "tool_choice": "auto",
        "top_k": 7,
    }


def test_an_entry_goes_over_the_top_level_and_a_call_over_both(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="hi"))
    asked = wrapper(server, {"temperature": 0.5}, temperature=0.1, top_p=0.3)
    said(asked)
    said(asked, temperature=0.9)
    sent = [(each.body["temperature"], each.body["top_p"]) for each in server.requests]
    assert sent == [(0.5, 0.3), (0.9, 0.3)]


def test_a_name_with_white_space_is_sent_as_the_api_takes_it(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    said(wrapper(server), messages=[{"role": "user", "content": "Hi", "name": "al the first"}])
    assert server.requests[0].last["name"] == "al_the_first"


def test_connections_keys_and_headers(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    said(wrapper(server, {"organization": "org-1", "default_headers": {"X-Mine": "1"}}))
    headers = server.requests[0].headers
    assert headers["Authorization"] == "Bearer sk-of-a-test"
    assert (headers["OpenAI-Organization"], headers["X-Mine"]) == ("org-1", "1")


def test_azure_deploys_a_model_under_its_name_without_dots(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    address = server.url.removesuffix("/v1")
    azure = {"api_type": "azure", "model": "gpt-3.5-turbo", "api_version": "2024-06-01"}
    assert said(wrapper(server, {**azure, "base_url": address})) == "hi"
    sent = server.requests[0]
    assert sent.path == "/openai/deployments/gpt-35-turbo/chat/completions"
    assert sent.query == {"api-version": "2024-06-01"}
    assert sent.body["model"] == "gpt-35-turbo"


def test_calls_are_the_answers_message(server: FakeOpenAI) -> None:
    server.script(Reply(calls=[Call(name="add", arguments={"a": 1}, id="c1")]))
    message = said(wrapper(server, {"tools": [TOOL]}))
    assert message.model_dump() == {
        "content": None,
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}, "type": "function"}
        ],
    }


@pytest.mark.parametrize("stream", [False, True])
def test_functions_are_asked_for_as_tools_and_called_as_such(
    server: FakeOpenAI, stream: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(Reply(calls=[Call(name="add", arguments={"a": 1})], legacy=True))
    message = said(wrapper(server, {"functions": [TOOL["function"]], "stream": stream}))
    assert message.model_dump()["function_call"] == {"name": "add", "arguments": '{"a": 1}'}
    assert message.tool_calls is None
    assert server.requests[0].tools == ["add"]  # servers of today know no other form


def test_a_stream_is_printed(server: FakeOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    server.script(Reply(text="one two three"))
    assert said(wrapper(server, {"stream": True})) == "one two three"
    assert capsys.readouterr().out == "one two three\n"
    assert server.requests[0].body["stream"] is True


async def test_a_streams_pieces_go_to_who_takes_them(
    openai_server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    openai_server.script(Reply(text="one two three"))
    pieces: list[str] = []

    async def take(piece: str) -> None:
        pieces.append(piece)

    CHUNKS.set(take)
    await wrapper(openai_server, {"stream": True}).a_create(messages=HELLO)
    assert "".join(pieces) == "one two three"
    assert len(pieces) > 1
    assert capsys.readouterr().out == ""


class Verse(BaseModel):
    lines: list[str]

    def format(self) -> str:
        return " / ".join(self.lines)


class Plain(BaseModel):
    lines: list[str]


def test_an_answer_in_a_shape_is_its_format(server: FakeOpenAI) -> None:
    server.script(Reply(text='{"lines": ["a", "b"]}'), Reply(text='{"lines": ["a"]}'))
    assert said(wrapper(server, {"response_format": Verse})) == "a / b"
    assert said(wrapper(server, {"response_format": Plain})) == '{"lines": ["a"]}'
    assert server.requests[0].body["response_format"]["json_schema"]["name"] == "Verse"


def test_a_schema_is_a_format(server: FakeOpenAI) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    server.script(Reply(text="{}"), Reply(text="{}"))
    said(wrapper(server, {"response_format": schema}))
    asked = [{"role": "user", "content": "As json."}]
    said(wrapper(server, {"response_format": {"type": "json_object"}}), messages=asked)
    first, second = (each.body["response_format"] for each in server.requests)
    assert first["json_schema"]["schema"] == schema
    assert second == {"type": "json_object"}


def test_templates_are_filled_with_the_context(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="hi"))
    messages = [
        {"role": "user", "content": lambda context: f"To {context['who']}"},
        {"role": "user", "content": "{who}?", "context": {"who": "bo"}},
    ]
    said(wrapper(server), messages=messages, context={"who": "al"})
    said(
        wrapper(server, {"allow_format_str_template": True}),
        messages=messages,
        context={"who": "al"},
    )
    sent = [[message["content"] for message in each.messages] for each in server.requests]
    assert sent == [["To al", "{who}?"], ["To al", "al?"]]
    assert all("context" not in message for each in server.requests for message in each.messages)


async def test_it_works_in_a_loop_and_leaves_nothing(openai_server: FakeOpenAI) -> None:
    openai_server.script(Reply(text="hi"), Reply(text="ho"))
    asked = wrapper(openai_server)
    responses = [await asked.a_create(messages=HELLO) for _ in range(2)]
    assert [each.choices[0].message.content for each in responses] == ["hi", "ho"]


def test_a_sync_call_works_inside_of_a_running_loop(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))

    async def inside() -> Any:
        return said(wrapper(server))

    assert asyncio.run(inside()) == "hi"


def test_one_wrapper_serves_several_loops(server: FakeOpenAI) -> None:
    server.script(*[Reply(text="hi")] * 3)
    asked = wrapper(server)
    asyncio.run(asked.a_create(messages=HELLO))
    said(asked)
    asyncio.run(asked.a_create(messages=HELLO))
    assert len(server.requests) == 3


def test_without_messages_the_provider_refuses(server: FakeOpenAI) -> None:
    for config in ({"messages": []}, {"messages": None}):
        with pytest.raises(BadRequest):
            said(wrapper(server), **config)


def test_without_a_model_nothing_is_asked(server: FakeOpenAI) -> None:
    with pytest.raises(ValueError, match="No model is named"):
        said(wrapper(server, {"model": None}))


# Fall-over


def test_an_error_leads_to_the_next_entry(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models |= {"o3"}
    server.script(DOWN, Reply(text="from o3"))
    asked = wrapper(server, {}, {"model": "o3"})
    response = asked.create(messages=HELLO)
    assert (response.config_id, response.model, response.pass_filter) == (1, "o3", True)
    assert [each.body["model"] for each in server.requests] == ["gpt-4o", "o3"]
    assert "Entry 0 of the config_list failed" in caplog.text


def test_a_missing_key_leads_to_the_next_entry(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"))
    assert said(wrapper(server, {"api_key": None, "base_url": None}, {})) == "hi"


def test_a_model_that_is_not_available_rests_and_is_asked_last(server: FakeOpenAI) -> None:
    server.models |= {"o3"}
    server.script(DOWN, Reply(text="one"), Reply(text="two"), DOWN, Reply(text="three"))
    asked = wrapper(server, {}, {"model": "o3"})
    assert [said(asked) for _ in range(3)] == ["one", "two", "three"]
    assert [each.body["model"] for each in server.requests] == ["gpt-4o", *["o3"] * 3, "gpt-4o"]


def test_a_request_that_one_model_does_not_take_is_no_reason_to_rest(server: FakeOpenAI) -> None:
    server.script(Fail(status=400, message="Not so."), Reply(text="one"), Reply(text="two"))
    asked = wrapper(server, {"price": 1}, {})
    said(asked)
    assert asked.create(messages=HELLO).config_id == 0


def test_the_last_error_is_raised(server: FakeOpenAI) -> None:
    server.script(DOWN, Fail(status=400, message="Not so."))
    with pytest.raises(BadRequest, match="Not so"):
        said(wrapper(server, {}, {}))


def test_a_timeout_leads_on_and_the_last_one_is_a_timeout_error(server: FakeOpenAI) -> None:
    server.script(Fault(kind="hang"), Fault(kind="hang"))
    with pytest.raises(TimeoutError) as raised:
        said(wrapper(server, {}, {}, timeout=0.05, max_retries=0))
    assert isinstance(raised.value.__cause__, ModelError)
    assert len(server.requests) == 2


def test_a_content_filter_is_raised_at_once(server: FakeOpenAI) -> None:
    server.script(Fail(status=400, code="content_filter", message="No."), Reply(text="hi"))
    with pytest.raises(ModelRefused):
        said(wrapper(server, {}, {}))
    assert len(server.requests) == 1


def test_a_rejected_answer_leads_on_and_the_last_is_returned_anyway(server: FakeOpenAI) -> None:
    server.script(Reply(text="one"), Reply(text="two"))
    seen: list[tuple[Any, str]] = []

    def reject(context: Any, response: Any) -> bool:
        seen.append((context, response.choices[0].message.content))
        return False

    asked = wrapper(server, {}, {})
    response = asked.create(messages=HELLO, filter_func=reject, context={"a": 1})
    assert seen == [({"a": 1}, "one"), ({"a": 1}, "two")]
    assert (response.config_id, response.pass_filter) == (1, False)
    assert asked.actual_usage_summary is not None
    assert asked.actual_usage_summary["gpt-4o"]["total_tokens"] == 30


# Clients of one's own


def test_a_custom_client_is_made_with_its_entry(server: FakeOpenAI) -> None:
    asked = OpenAIWrapper(config_list=[{"model": "mine", "model_client_cls": "Custom", "n": 2}])
    asked.register_model_client(Custom, loud=True)
    assert said(asked) == "hi"
    assert Custom.made.config == {"model": "mine", "model_client_cls": "Custom", "n": 2}
    assert Custom.made.kwargs == {"loud": True}
    assert Custom.made.asked == [
        {"model": "mine", "model_client_cls": "Custom", "n": 2, "messages": HELLO}
    ]
    assert asked.total_usage_summary == {
        "total_cost": 0.5,
        "mine": {"cost": 0.5, "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def test_each_call_takes_the_first_free_placeholder(caplog: pytest.LogCaptureFixture) -> None:
    mine = {"model_client_cls": "Custom"}
    asked = OpenAIWrapper(config_list=[{**mine, "says": "a"}, {**mine, "says": "b"}])
    asked.register_model_client(Custom)
    assert Custom.made.config["says"] == "a"
    with pytest.raises(RuntimeError, match=r"Model client\(s\) \['Custom'\] are not activated\."):
        said(asked)
    asked.register_model_client(Custom)
    assert Custom.made.config["says"] == "b"
    assert said(asked) == "a"
    asked.register_model_client(Custom)
    assert "Custom are taken" in caplog.text


def test_a_class_that_no_entry_names_is_refused(server: FakeOpenAI) -> None:
    with pytest.raises(
        ValueError,
        match=r'Model client "Custom" is being registered but was not found in the config_list\. ',
    ):
        wrapper(server).register_model_client(Custom)


def test_a_custom_clients_error_leads_on(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.script(Reply(text="hi"))
    asked = wrapper(server, {"model_client_cls": "Custom", "fails": KeyError("gone")}, {})
    asked.register_model_client(Custom)
    assert said(asked) == "hi"
    assert "gone" in caplog.text


def test_an_answer_without_usage_is_not_counted() -> None:
    class Silent(Custom):
        @staticmethod
        def get_usage(response: Any) -> Any:
            return None

    class Partial(Custom):
        @staticmethod
        def get_usage(response: Any) -> Any:
            return {"prompt_tokens": 3}

    for each in (Silent, Partial):
        asked = OpenAIWrapper(model_client_cls=each.__name__)
        asked.register_model_client(each)
        assert said(asked) == "hi"
        assert asked.total_usage_summary is None


async def test_a_custom_client_runs_off_the_loop() -> None:
    loops: list[bool] = []

    class Looking(Custom):
        def create(self, params: dict[str, Any]) -> Any:
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                loops.append(False)
            return super().create(params)

    class Waiting(Custom):
        async def create(self, params: dict[str, Any]) -> Any:
            await asyncio.sleep(0)
            loops.append(True)
            return super().create(params)

    for each in (Looking, Waiting):
        asked = OpenAIWrapper(model_client_cls=each.__name__)
        asked.register_model_client(each)
        response = await asked.a_create(messages=HELLO)
        assert asked.extract_text_or_completion_object(response) == ["hi"]
    assert loops == [False, True]


def test_registered_clients_and_usage_survive_another_config() -> None:
    asked = OpenAIWrapper(model_client_cls="Custom")
    asked.register_model_client(Custom)
    said(asked)
    asked.reconfigure({"model_client_cls": "Custom", "tools": [TOOL]})
    said(asked)
    assert Custom.made.asked[-1]["tools"] == [TOOL]
    assert asked.total_usage_summary is not None
    assert asked.total_usage_summary["total_cost"] == 1.0


# Cache and cost


def test_a_hit_counts_in_total_only(server: FakeOpenAI) -> None:
    server.script(Reply(text="hi"), Reply(text="other"))
    shelf = Shelf()
    assert isinstance(shelf, AbstractCache)
    asked = wrapper(server)
    assert [said(asked, cache=shelf) for _ in range(2)] == ["hi", "hi"]
    assert said(asked, cache=shelf, temperature=1) == "other"
    assert asked.actual_usage_summary is not None
    assert asked.total_usage_summary is not None
    assert asked.actual_usage_summary["gpt-4o"]["prompt_tokens"] == 20
    assert asked.total_usage_summary["gpt-4o"]["prompt_tokens"] == 30
    assert (shelf.entered, shelf.left) == (5, 5)
    assert next(iter(shelf.kept)).startswith('{"messages": [{"content": "Hello"')
    assert "sk-of-a-test" not in "".join(shelf.kept)


def test_a_seed_keeps_answers_on_disk(
    server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    server.script(Reply(text="one"), Reply(text="two"), Reply(text="three"))
    assert [said(wrapper(server, {"cache_seed": 7})) for _ in range(2)] == ["one", "one"]
    assert (tmp_path / ".cache" / "7").is_dir()
    assert said(wrapper(server, {"cache_seed": None})) == "two"
    assert said(wrapper(server, {"cache_seed": 7}), cache=Shelf()) == "three"


def test_a_disk_cache_is_a_context(tmp_path: Any) -> None:
    with Cache.disk(3, str(tmp_path)) as cache:
        assert isinstance(cache, AbstractCache)
        cache.set("a", 1)
    with cache as again:
        assert (again.get("a"), again.get("b"), again.get("b", 2)) == (1, None, 2)
    cache.close()


@pytest.mark.parametrize(("price", "cost"), [([0.1, 0.2], 0.002), (0.1, 0.0015), (0, 0.0)])
def test_a_price_is_per_thousand_tokens(server: FakeOpenAI, price: Any, cost: float) -> None:
    server.script(Reply(text="hi", usage=(10, 5)))
    asked = wrapper(server, {"price": price})
    assert asked.create(messages=HELLO).cost == pytest.approx(cost)


def test_a_price_of_another_form_is_refused(server: FakeOpenAI) -> None:
    with pytest.raises(ValueError, match="neither a number nor"):
        wrapper(server, {"price": "much"})


def test_without_a_price_a_table_is_asked(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.models |= {"homemade"}
    server.script(Reply(text="hi", usage=(1000, 0)), Reply(text="hi"))
    known = wrapper(server, {"price": None})
    assert known.create(messages=HELLO).cost == pytest.approx(0.0025)
    unknown = wrapper(server, {"price": None, "model": "homemade"})
    with caplog.at_level(logging.WARNING):
        assert unknown.create(messages=HELLO).cost == 0
    assert "The price of the model homemade is not known" in caplog.text


CLAIMS = [math.nan, math.inf, -1, 2**62, 10**30, "12", True, [], 1.5]


@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
@pytest.mark.parametrize("key", ["prompt_tokens", "completion_tokens", "total_tokens"])
def test_a_custom_clients_count_that_is_none_reads_as_0(key: str, claim: Any) -> None:
    class Claiming(Custom):
        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            return {**Custom.get_usage(response), key: claim}

    asked = OpenAIWrapper(model_client_cls="Claiming")
    asked.register_model_client(Claiming)
    assert said(asked) == "hi"
    honest = {"cost": 0.5, "prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert asked.total_usage_summary == {"total_cost": 0.5, "mine": {**honest, key: 0}}


@pytest.mark.parametrize("claim", [math.nan, math.inf, -1, "12", True, []], ids=repr)
def test_a_custom_clients_cost_that_is_none_reads_as_0(claim: Any) -> None:
    class Claiming(Custom):
        @staticmethod
        def get_usage(response: Any) -> dict[str, Any]:
            return {**Custom.get_usage(response), "cost": claim}

    asked = OpenAIWrapper(model_client_cls="Claiming")
    asked.register_model_client(Claiming)
    assert said(asked) == "hi"
    assert asked.total_usage_summary is not None
    assert asked.total_usage_summary["total_cost"] == 0


def test_a_cache_that_fails_costs_no_answer(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    server.script(Reply(text="hi"))
    assert said(wrapper(server), cache=Broken()) == "hi"
    assert "No space left" in caplog.text


async def test_a_config_that_changes_during_a_request_is_for_the_next_one(
    openai_server: FakeOpenAI,
) -> None:
    openai_server.script(Reply(text="hi"))
    asked = wrapper(openai_server)

    def change(context: Any, response: Any) -> bool:
        asked.reconfigure({"config_list": [entry(openai_server, tools=[TOOL])]})
        return True

    response = await asked.a_create(messages=HELLO, filter_func=change)
    assert asked.extract_text_or_completion_object(response) == ["hi"]
