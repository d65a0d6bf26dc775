"""Agents whose answers are cut at the token limit."""

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from teams.models import ChatCompletionClient, CreateResult
from tests.fakes.scripted_model import says

HALF = "Once upon a time there was a "


def cut(text: str = HALF) -> CreateResult:
    return says(text).model_copy(update={"finish_reason": "length"})


def writing(model: ChatCompletionClient, *, stream: bool = True) -> Team:
    """A team of one writer."""
    agent = AssistantAgent("solo", model, model_client_stream=stream)
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))
