"""Magentic-One's programmer."""

from typing import Any

import pytest

from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.base import ChatAgent
from teams.models.openai import OpenAIChatCompletionClient
from tests.fakes.openai_script import Reply


@pytest.fixture
def model(openai_server) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-x", base_url=openai_server.url)


async def test_it_has_a_prompt_of_its_own_and_ignores_others(openai_server, model):
    openai_server.script(Reply(text="```python\nprint(1)\n```"))
    coder = MagenticOneCoderAgent("Coder", model, system_message="Be rude.", tools=[print])
    result = await coder.run(task="Print a one.")
    assert result.messages[-1].to_text() == "```python\nprint(1)\n```"
    [request] = openai_server.requests
    assert "complete script" in request.system
    assert "rude" not in request.system
    assert request.tools == []
    await model.close()


@pytest.mark.parametrize("provider", ["teams", "autogen"])
async def test_it_comes_back_from_its_component(model, provider: Any):
    dumped = MagenticOneCoderAgent("Coder", model).dump_component(provider=provider)
    home = {"teams": "teams", "autogen": "autogen_ext"}[provider]
    assert dumped.provider == f"{home}.agents.magentic_one.MagenticOneCoderAgent"
    dumped.config["model_client"]["config"]["api_key"] = "sk-x"
    again = ChatAgent.load_component(dumped.model_dump(), MagenticOneCoderAgent)
    assert (again.name, again.description) == (
        "Coder",
        MagenticOneCoderAgent("Coder", model).description,
    )
    await model.close()
    await again.model_client.close()
