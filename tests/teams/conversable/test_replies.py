"""Reply functions, triggers and hooks."""

from __future__ import annotations

from typing import Any

import pytest

from teams.conversable import Agent, ConversableAgent, SenderRequired, UserProxyAgent
from tests.teams.conversable.pairs import Screen, agent, reply, saying

SPEAKER = agent("speaker")


def user(text: str = "hi") -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def answer(al: ConversableAgent, sender: Agent | None = SPEAKER, **options: Any) -> Any:
    return al.generate_reply(messages=user(), sender=sender, **options)


@pytest.mark.parametrize(
    ("trigger", "matches"),
    [
        (ConversableAgent, True),
        (UserProxyAgent, False),
        (Agent, True),
        ("speaker", True),
        ("listener", False),
        (SPEAKER, True),
        (agent("speaker"), False),
        (lambda sender: sender.name == "speaker", True),
        (lambda _: False, False),
        (None, False),
        (["listener", SPEAKER], True),
        ([None, "listener"], False),
        ([], False),
    ],
)
def test_a_trigger_matches_the_sender(trigger: Any, matches: bool):
    al = agent()
    al.register_reply(trigger, reply("mine"))
    assert answer(al) == ("mine" if matches else "I am al")


def test_none_matches_no_sender():
    al = agent()
    al.register_reply(None, reply("mine"))
    assert answer(al, sender=None) == "mine"
    al = agent()
    al.register_reply(["speaker", None], reply("mine"))
    with pytest.raises(SenderRequired, match=r"^Sender is required but not provided\.$"):
        answer(al, sender=None)


def test_a_trigger_answers_true_or_false():
    al = agent()
    al.register_reply(lambda _: 1, reply("mine"))
    with pytest.raises(AssertionError, match="boolean"):
        answer(al)


def test_a_trigger_of_another_type_is_refused():
    al = agent()
    with pytest.raises(ValueError, match="trigger"):
        al.register_reply(1, reply("mine"), remove_other_reply_funcs=True)  # type: ignore[arg-type]
    assert answer(al) == "I am al"
    al.register_reply([1], reply("mine"))
    with pytest.raises(ValueError, match="trigger"):
        answer(al)


def test_the_last_registered_is_asked_first_and_positions_count_from_it():
    al = agent()
    order: list[str] = []

    def note(name: str) -> Any:
        def function(*_: Any, **__: Any) -> tuple[bool, None]:
            order.append(name)
            return False, None

        return function

    al.register_reply(Agent, note("first"))
    al.register_reply(Agent, note("second"))
    al.register_reply(Agent, note("between"), position=1)
    al.register_reply(Agent, note("last"), position=100)
    assert answer(al) == "I am al"
    assert order == ["second", "between", "first", "last"]


def test_position_2_is_after_the_human_check():
    al = agent(max_consecutive_auto_reply=0)
    al.register_reply(Agent, reply("mine"), position=2)
    assert answer(al) is None
    al.register_reply(Agent, reply("mine"), position=0)
    assert answer(al) == "mine"


def test_the_first_final_reply_wins_and_may_be_none():
    al = agent()
    al.register_reply(Agent, reply("second"))
    al.register_reply(Agent, lambda *_, **__: (False, "not final"))
    assert answer(al) == "second"
    al.register_reply(Agent, reply(None))
    assert answer(al) is None


@pytest.mark.parametrize("default", ["", "x", {"content": "x"}, None])
def test_without_one_the_default_reply_is_sent(default: Any):
    assert answer(agent(default_auto_reply=default)) == default
    assert ConversableAgent("al", human_input_mode="NEVER").generate_reply(user()) == ""


def test_reply_functions_are_called_by_these_names():
    seen: list[Any] = []

    def note(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> Any:
        seen.extend([recipient, messages, sender, config])
        return True, "x"

    al = agent()
    al.register_reply(Agent, note, config={"a": 1})
    answer(al)
    assert seen == [al, user(), SPEAKER, {"a": 1}]


def test_the_config_is_a_copy_and_reset_with_the_agent():
    first: dict[str, int] = {}
    al = agent()

    def count(
        recipient: Any, messages: Any, sender: Any, config: dict[str, int]
    ) -> tuple[bool, int]:
        config["n"] = config.get("n", 0) + 1
        return True, config["n"]

    al.register_reply(Agent, count, config=first)
    assert [answer(al), answer(al)] == [1, 2]
    assert first == {}
    al.reset()
    assert answer(al) == 1


def test_a_reset_function_resets_the_config():
    al = agent()
    config: list[int] = [1]
    al.register_reply(
        Agent,
        lambda _, messages, sender, config: (True, len(config)),
        config=config,
        reset_config=lambda config: config.extend([2, 3]),
    )
    assert answer(al) == 1
    al.reset()
    assert answer(al) == 3


def test_other_functions_may_be_removed():
    al = agent(max_consecutive_auto_reply=0)
    al.register_reply(Agent, reply("mine"), remove_other_reply_funcs=True)
    assert answer(al) == "mine"


def test_a_function_is_replaced():
    al, old = agent(), reply("old")
    al.register_reply(Agent, old)
    al.replace_reply_func(old, reply("new"))
    assert answer(al) == "new"


CHECKS = [
    ConversableAgent.check_termination_and_human_reply,
    ConversableAgent.a_check_termination_and_human_reply,
]


@pytest.mark.parametrize("check", CHECKS)
async def test_a_built_in_step_is_left_out_by_either_function(check: Any):
    al = agent(max_consecutive_auto_reply=0)
    assert answer(al) is None
    assert answer(al, exclude=[check]) == "I am al"
    assert await al.a_generate_reply(user(), SPEAKER, exclude=[check]) == "I am al"


async def test_a_built_in_step_is_replaced_in_both_modes():
    al = agent()
    al.replace_reply_func(ConversableAgent.check_termination_and_human_reply, reply("mine"))
    assert (answer(al), await al.a_generate_reply(user(), SPEAKER)) == ("mine", "mine")


async def test_the_async_form_of_a_step_is_replaced_alone():
    async def mine(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, "mine"

    al = agent()
    al.replace_reply_func(ConversableAgent.a_check_termination_and_human_reply, mine)
    assert (answer(al), await al.a_generate_reply(user(), SPEAKER)) == ("I am al", "mine")


async def test_a_built_in_step_registered_by_hand_runs_once():
    al = agent(max_consecutive_auto_reply=2)
    al.register_reply(
        [Agent, None],
        ConversableAgent.a_check_termination_and_human_reply,
        ignore_async_in_sync_chat=True,
    )
    al.register_reply([Agent, None], ConversableAgent.check_termination_and_human_reply)
    for _ in range(2):
        assert await al.a_generate_reply(user(), SPEAKER) == "I am al"
    assert await al.a_generate_reply(user(), SPEAKER) is None


def test_a_function_registered_twice_runs_twice():
    al = agent()
    seen: list[int] = []

    def note(recipient: Any, messages: Any, sender: Any, config: int) -> tuple[bool, None]:
        seen.append(config)
        return False, None

    al.register_reply(Agent, note, config=1)
    al.register_reply(Agent, note, config=2)
    answer(al)
    assert seen == [2, 1]


def test_messages_or_a_sender_are_needed():
    with pytest.raises(AssertionError, match="must be provided"):
        agent().generate_reply()


def test_without_messages_the_conversation_with_the_sender_counts():
    al, bo = agent(), agent("bo")
    al.register_reply(bo, lambda _, messages, sender, config: (True, messages[-1]["content"]))
    bo.send("this", al)
    assert al.generate_reply(sender=bo) == "this"


async def test_coroutine_functions_are_for_async_replies():
    async def later(*_: Any, **__: Any) -> tuple[bool, str]:
        return True, "later"

    al = agent()
    al.register_reply(Agent, later)
    assert answer(al) == "I am al"
    assert await al.a_generate_reply(user(), SPEAKER) == "later"


async def test_async_replies_run_plain_functions_as_well():
    al = saying("al", "plain")
    assert await al.a_generate_reply(user(), SPEAKER) == "plain"


# --- hooks ---


def test_hooks_are_called_in_this_order():
    al = agent()
    order: list[str] = []

    def note(name: str, result: Any = None) -> Any:
        def hook(*given: Any) -> Any:
            order.append(name)
            return given[-1] if result is None else result

        return hook

    al.register_hook("process_all_messages_before_reply", note("all"))
    al.register_hook("process_last_received_message", note("last 1"))
    al.register_hook("process_last_received_message", note("last 2"))
    al.register_hook("update_agent_state", note("state"))
    al.register_reply(Agent, lambda *_, **__: (order.append("function"), (True, "x"))[1])
    answer(al)
    assert order == ["state", "last 1", "last 2", "all", "function"]


def test_the_state_hook_has_agent_and_messages():
    al = agent()
    seen: list[Any] = []
    al.register_hook("update_agent_state", lambda *given: seen.extend(given))
    answer(al)
    assert seen == [al, user()]


def test_what_the_hooks_make_of_messages_is_replied_to():
    al, messages = agent(), user("hi")
    al.register_hook("process_last_received_message", lambda content: f"{content}!")
    al.register_hook("process_all_messages_before_reply", lambda messages: [*user("0"), *messages])
    al.register_reply(
        Agent, lambda _, messages, sender, config: (True, [m["content"] for m in messages])
    )
    assert al.generate_reply(messages, SPEAKER) == ["0", "hi!"]
    assert messages == user("hi!"), "the message itself is changed"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "exit"},
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user"},
        {"role": "user", "content": "x", "function_call": {"name": "f"}},
        {"role": "user", "content": "x", "context": {}},
    ],
)
def test_some_last_messages_are_not_for_hooks(message: dict[str, Any]):
    al = agent()
    al.register_hook("process_last_received_message", lambda content: pytest.fail("called"))
    assert al.process_last_received_message([dict(message)]) == [message]
    assert al.process_last_received_message([]) == []


def test_a_list_of_parts_is_for_hooks():
    al = agent()
    al.register_hook("process_last_received_message", lambda parts: parts[:1])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    processed = al.process_last_received_message([{"role": "user", "content": parts}])
    assert processed[0]["content"] == parts[:1]


def test_hooks_go_to_a_known_list_once():
    al, screen = agent(), Screen()
    with pytest.raises(AssertionError, match="process_everything"):
        al.register_hook("process_everything", print)
    al.register_hook("update_agent_state", screen.input)
    with pytest.raises(AssertionError, match="already"):
        al.register_hook("update_agent_state", screen.input)


def test_the_built_in_steps_have_this_order():
    ended: list[int] = [9]
    al = agent(
        function_map={"f": lambda: "from f"},
        code_execution_config={"executor": "commandline-local"},
        is_termination_msg=lambda _: bool(ended),
        default_auto_reply="default",
    )
    al.register_reply([Agent, None], reply("from the model"), position=99)
    call = {"name": "f", "arguments": "{}"}
    message = {
        "role": "user",
        "content": "```sh\necho from code\n```",
        "function_call": call,
        "tool_calls": [{"id": "1", "function": call}],
    }
    steps = [
        lambda: ended.clear(),
        lambda: message.pop("function_call"),
        lambda: message.pop("tool_calls"),
        lambda: message.update(content="text"),
    ]
    replies = []
    for step in steps:
        replies.append(al.generate_reply([message], SPEAKER))
        step()
    assert replies[0] is None
    assert [each["role"] for each in replies[1:3]] == ["function", "tool"]
    assert replies[3].endswith("from code\n")
    assert al.generate_reply([message], SPEAKER) == "from the model"


async def test_hooks_of_async_replies_have_the_same_order():
    al, order = agent(), list[str]()
    al.register_hook("process_all_messages_before_reply", lambda all: order.append("all") or all)
    al.register_hook("process_last_received_message", lambda text: order.append("last") or text)
    al.register_hook("update_agent_state", lambda *_: order.append("state"))
    await al.a_generate_reply(user(), SPEAKER)
    assert order == ["state", "last", "all"]
