"""Answers in JSON: out of their fences, and repaired once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from teams.models import RequestUsage
from teams.models._structured import bare_json
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.wire import HELLO, WireServer, streamed


class Weather(BaseModel):
    city: str
    degrees: int


FIT = '{"city": "Oslo", "degrees": 3}'
UNFIT = '{"city": "Oslo", "degrees": "cold"}'
KINDS = ["openai", "anthropic", "ollama"]


def said(kind: str, text: str, finish: str = "stop") -> str:
    """A whole answer of a text, that took 7 and 5 tokens."""
    match kind:
        case "openai":
            choice = {"message": {"content": text}, "finish_reason": finish}
            usage = {"prompt_tokens": 7, "completion_tokens": 5}
            return json.dumps({"choices": [choice], "usage": usage})
        case "anthropic":
            usage = {"input_tokens": 7, "output_tokens": 5}
            block = {"type": "text", "text": text}
            stop = {"stop": "end_turn", "length": "max_tokens"}[finish]
            answer = {"type": "message", "content": [block], "stop_reason": stop, "usage": usage}
            return json.dumps(answer)
        case _:
            message = {"message": {"content": text}, "done": True, "done_reason": finish}
            return json.dumps({**message, "prompt_eval_count": 7, "eval_count": 5}) + "\n"


async def ask(server: WireServer, wanted: Any, *, stream: bool) -> Any:
    client = server.client()
    if stream:
        return (await streamed(client, json_output=wanted))[1]
    return await client.create(HELLO, json_output=wanted)


both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.mark.parametrize("kind", KINDS)
@both
async def test_json_in_a_fence_serves(kind: Any, stream: bool):
    server = WireServer(kind, said(kind, f"Here it is:\n```json\n{FIT}\n```\n"))
    result = await ask(server, Weather, stream=stream)
    assert result.content == FIT
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("unfit", "why"), [(UNFIT, "degrees"), ("It is cold.", "the whole")])
@both
async def test_what_does_not_fit_is_asked_for_once_more(
    kind: Any, unfit: str, why: str, stream: bool
):
    server = WireServer(kind, said(kind, unfit), said(kind, FIT))
    result = await ask(server, Weather, stream=stream)
    assert result.content == FIT
    assert result.usage == RequestUsage(14, 10)
    told = str(server.requests[1]["messages"][-1])
    assert "not the JSON that was asked for" in told
    assert why in told
    assert len(server.requests[1]["messages"]) == len(server.requests[0]["messages"]) + 2


@pytest.mark.parametrize("kind", KINDS)
async def test_it_is_asked_for_no_second_time(kind: Any):
    server = WireServer(kind, *[said(kind, UNFIT)] * 2)
    result = await ask(server, Weather, stream=False)
    assert result.content == UNFIT
    assert len(server.requests) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [None, False, Weather])
async def test_other_answers_are_let_be(kind: Any, wanted: Any):
    server = WireServer(kind, said(kind, UNFIT, "length" if wanted else "stop"))
    assert (await ask(server, wanted, stream=False)).content == UNFIT


async def test_a_form_whose_own_code_fails_is_left_to_who_asked():
    class Odd(BaseModel):
        city: str

        def model_post_init(self, context: Any, /) -> None:
            raise LookupError(self.city)

    server = WireServer("openai", said("openai", FIT))
    assert (await ask(server, Odd, stream=False)).content == FIT


async def test_json_of_any_client_is_taken_out_of_its_fence():
    client = ReplayChatCompletionClient([f"```\n{FIT}\n```"] * 2)
    assert (await client.create(HELLO, json_output=True)).content == FIT
    assert (await client.create(HELLO)).content == f"```\n{FIT}\n```"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (FIT, FIT),
        (f"Sure! {FIT} Anything else?", FIT),
        ("```json\n[1, 2]\n```", "[1, 2]"),
        (f"{FIT} or {UNFIT}", f"{FIT} or {UNFIT}"),
        (f"```\n{FIT}\n```\n```\n{UNFIT}\n```", f"```\n{FIT}\n```\n```\n{UNFIT}\n```"),
        ("No.", "No."),
        ("", ""),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_one_json_is_taken_out_of_what_is_around_it(text: str, bare: str):
    assert bare_json(text) == bare
