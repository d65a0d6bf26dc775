"""Chats on the screen."""

from __future__ import annotations

from typing import Any

import pytest

from teams.conversable import IOConsole, IOStream
from tests.teams.conversable.pairs import Screen, agent, saying

LINE = "-" * 80


def shown(message: Any, **options: Any) -> str:
    screen = Screen()
    with IOStream.set_default(screen):
        agent("al", **options).send(message, agent("bo", **options))
    return screen.text


def test_a_text_has_a_header_and_a_line_below():
    assert shown("hi") == f"al (to bo):\n\nhi\n\n{LINE}\n"


def test_images_have_a_mark():
    parts = [{"type": "text", "text": "see "}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert "\n\nsee <image>\n\n" in shown({"content": parts})


def test_calls_have_banners():
    call = {"id": "7", "function": {"name": "add", "arguments": '{"a": 1}'}}
    banner = "***** Suggested tool call (7): add *****"
    assert shown({"tool_calls": [call]}) == (
        f'al (to bo):\n\n{banner}\nArguments: \n{{"a": 1}}\n{"*" * len(banner)}\n\n{LINE}\n'
    )
    banner = "***** Suggested function call: add *****"
    assert shown({"content": "so", "function_call": {"name": "add", "arguments": "{}"}}) == (
        f"al (to bo):\n\nso\n{banner}\nArguments: \n{{}}\n{'*' * len(banner)}\n\n{LINE}\n"
    )


def test_results_have_banners():
    results = [{"role": "tool", "tool_call_id": each, "content": f"r{each}"} for each in "12"]
    banner = "***** Response from calling tool (1) *****"
    text = shown({"role": "tool", "content": "r1\n\nr2", "tool_responses": results})
    assert text == "al (to bo):\n\n" + "".join(
        f"{banner.replace('1', each)}\nr{each}\n{'*' * len(banner)}\n\n{LINE}\n" for each in "12"
    )
    banner = "***** Response from calling function (add) *****"
    assert shown({"role": "function", "name": "add", "content": "3"}) == (
        f"al (to bo):\n\n{banner}\n3\n{'*' * len(banner)}\n\n{LINE}\n"
    )


def test_a_person_s_text_follows_the_results_it_came_before():
    result = {"role": "tool", "tool_call_id": "1", "content": "USER INTERRUPTED"}
    text = shown({"role": "user", "content": "stop", "tool_responses": [result]})
    assert text.index("USER INTERRUPTED") < text.index("\nstop\n")


def test_the_context_makes_the_content():
    assert "\n\ntea!\n\n" in shown({"content": lambda c: c["x"] + "!", "context": {"x": "tea"}})
    assert "\n\n{x}\n\n" in shown({"content": "{x}", "context": {"x": "tea"}})


def test_a_message_is_stored_before_it_is_shown():
    al, bo = agent("al"), agent("bo")

    class Looking(Screen):
        def print(self, *objects: Any, **options: Any) -> None:
            assert bo.chat_messages[al]

    with IOStream.set_default(Looking()):
        al.send("hi", bo)


def test_the_default_is_the_console(capsys: pytest.CaptureFixture[str], monkeypatch: Any):
    assert isinstance(IOStream.get_default(), IOConsole)
    monkeypatch.setattr("builtins.input", lambda prompt: f"{prompt} yes")
    IOStream.get_default().print("a", "b", sep="-", end="!\n")
    assert capsys.readouterr().out == "a-b!\n"
    assert IOStream.get_default().input("sure?") == "sure? yes"
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"{prompt} secret")
    assert IOStream.get_default().input("key?", password=True) == "key? secret"


def test_a_stream_is_in_use_inside_alone():
    outer, inner = Screen(), Screen()
    with IOStream.set_default(outer):
        with IOStream.set_default(inner):
            assert IOStream.get_default() is inner
        assert IOStream.get_default() is outer
    assert isinstance(outer, IOStream)


def test_texts_are_templates_where_the_llm_config_says_so():
    config = {"model": "gpt-4o", "api_key": "sk-x", "allow_format_str_template": True}
    screen = Screen()
    with IOStream.set_default(screen):
        agent("al").send({"content": "{x}!", "context": {"x": "tea"}}, agent(llm_config=config))
    assert "\n\ntea!\n\n" in screen.text


def test_silence_keeps_the_banners():
    screen, al = Screen("", "exit"), agent("al", human_input_mode="ALWAYS")
    with IOStream.set_default(screen):
        al.initiate_chat(saying("bo", "1", "2"), message="hi", silent=True)
    assert screen.text == ("\n>>>>>>>> NO HUMAN INPUT RECEIVED.\n\n>>>>>>>> USING AUTO REPLY...\n")
