"""Teams whose agents summarise what was said."""

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.model_context import AutoChatCompletionContext
from teams.models import ChatCompletionClient

SUMMARY = "They spoke of foxes."


def agent(name: str, model: ChatCompletionClient) -> AssistantAgent:
    return AssistantAgent(
        name, model, model_context=AutoChatCompletionContext(model), model_client_stream=True
    )


def summarising(model: ChatCompletionClient) -> Team:
    """A team of one agent."""
    return RoundRobinGroupChat(
        [agent("solo", model)], termination_condition=MaxMessageTermination(2)
    )
