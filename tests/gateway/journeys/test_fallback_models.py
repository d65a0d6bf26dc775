"""A missing model, for people, the operator and budgets."""

from pathlib import Path

import aiohttp
import pytest

from gateway.app.assemble import own_gateway, store_of
from gateway.app.load import load_config
from gateway.app.operator import owner_status
from gateway.control.health import serve_health
from gateway.errors import kind_of_failure
from gateway.events import MessageFinished, Notice
from teams.models import ModelTimeout, RateLimited
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import of, turn

CONFIG = """
[models.main]
model = "gpt-4o"
base_url = "{busy}"
max_retries = 0
fallback = ["spare"]
[models.spare]
model = "gpt-4.1-mini"
base_url = "{fine}"
[teams.solo]
type = "round_robin"
max_turns = 1
agents.helper = {{ model = "main" }}
[prices]
"gpt-4o" = {{ input = 1000, output = 1000 }}
"gpt-4.1-mini" = {{ input = 10, output = 10 }}
"""


@pytest.mark.parametrize("status", [429, 500])
async def test_another_model_answers_and_everybody_who_should_know_is_told(tmp_path: Path, status):
    refusal = Fail(status=status, message="no", headers={"retry-after": "500"})
    usage = (100_000, 0)
    answers = [Reply(text=text, usage=usage) for text in ("one", "two", "three")]
    async with (
        FakeOpenAI(refusal) as busy,
        FakeOpenAI(*answers, models=["gpt-4.1-mini"]) as fine,
    ):
        path = tmp_path / "config.toml"
        path.write_text(CONFIG.format(busy=busy.url, fine=fine.url))
        loaded = load_config(path)
        async with own_gateway(loaded, store_of(loaded)) as gateway:
            thread, other = [(await gateway.client.create_thread()).id for _ in range(2)]
            seen = [await turn(gateway, each, "Hi") for each in (thread, thread, other)]
            _, status_text = await owner_status(store_of(loaded))
            metrics = await metrics_of(gateway)
        assert len(busy.requests) == 1
    assert [of(MessageFinished, events)[-1].text for events in seen] == ["one", "two", "three"]
    kind = "RateLimited" if status == 429 else "ModelUnavailable"
    notices = [[notice.text for notice in of(Notice, events)] for events in seen]
    why = "the model's rate limit" if status == 429 else "the model's provider failed"
    told = f"The model 'spare' answers for now: 'main' is not available ({why})."
    assert notices == [[told], [], [told]]  # once in each thread
    assert "Answers of other models (3 spare for main)." in status_text
    assert f"model main: spare answers in its place ({kind})" in status_text
    assert " at a cost of 3.00" in status_text  # at the price of the one that answered
    labels = f'because="{kind}",by="spare",model="main"'
    assert f"parley_model_substitutions_total{{{labels}}} 3.0" in metrics


async def metrics_of(gateway) -> list[str]:
    async with (
        serve_health(gateway, "127.0.0.1", 0) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        return (await response.text()).splitlines()


def test_the_kind_of_a_failure_has_words_and_those_of_its_base_otherwise():
    class Odd(RateLimited):
        """A kind of a client of others."""

    assert kind_of_failure(Odd) == "the model's rate limit"
    assert kind_of_failure(ModelTimeout) == "the model did not answer in time"
    assert kind_of_failure(KeyError) == "an error"
