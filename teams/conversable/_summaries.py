"""Summaries of finished chats."""

from __future__ import annotations

import warnings
from typing import Any

from teams.conversable._messages import content_text
from teams.conversable._mode import Mode
from teams.conversable._model_messages import spread_tool_responses
from teams.conversable._protocols import Agent, Function, Given, Settings
from teams.conversable._state import AgentState
from teams.models._errors import BadRequest

DEFAULT_SUMMARY_PROMPT = (
    "Summarize takeaway from the conversation. Do not add any introductory phrases. "
    "If the intended request is NOT properly addressed, please point it out."
)
REFLECTION = "reflection_with_llm"
SummaryMethod = str | Function | None


def check_summary(method: SummaryMethod, sender: Agent, recipient: Agent) -> None:
    """AssertionError for a summary that cannot be made."""
    if not (method is None or callable(method) or method in (REFLECTION, "last_msg")):
        raise AssertionError(
            "summary_method must be a string chosen from 'reflection_with_llm' or 'last_msg' or a "
            "callable, or None."
        )
    if method == REFLECTION and _reflecting(sender, recipient) is None:
        raise AssertionError(
            "llm client must be set in either the recipient or sender when summary_method is "
            "reflection_with_llm."
        )


def _reflecting(sender: Agent, recipient: Agent) -> AgentState | None:
    """Agent whose client makes the summary."""
    for agent in (recipient, sender):
        if isinstance(agent, AgentState) and agent.client is not None:
            return agent
    return None


async def summarise(
    mode: Mode,
    sender: Agent,
    recipient: Agent,
    method: SummaryMethod,
    arguments: Given,
) -> Any:
    """Summary of the chat between two agents."""
    if method is None:
        return ""
    if callable(method):
        return await mode.settle(method(sender, recipient, arguments))
    if method == REFLECTION:
        return await _reflect(mode, sender, recipient, arguments)
    try:
        agent: Any = recipient  # one that is none of ours has no last message
        last = agent.last_message(sender)
        return content_text(last["content"]).replace("TERMINATE", "")
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        warnings.warn(f"Cannot extract summary using last_msg: {error}.", stacklevel=2)
        return ""


async def _reflect(mode: Mode, sender: Agent, recipient: Agent, arguments: Given) -> Any:
    """Summary that a model makes of the conversation."""
    prompt = arguments.get("summary_prompt")
    prompt = DEFAULT_SUMMARY_PROMPT if prompt is None else prompt
    role = arguments.get("summary_role") or "system"
    for name, value in (("summary_prompt", prompt), ("summary_role", role)):
        if not isinstance(value, str):
            raise ValueError(f"The {name} must be a string, not {type(value).__name__}.")
    agent = _reflecting(sender, recipient)
    if agent is None:  # it went during the chat
        warnings.warn("No model client is left to summarise the chat with.", stacklevel=2)
        return ""
    one: Any = recipient if isinstance(recipient, AgentState) else sender
    history = one.chat_messages_for_summary(sender if one is recipient else recipient)
    request: Settings = {
        "messages": [*spread_tool_responses(history), {"role": role, "content": prompt}],
        "cache": agent.client_cache,
        "agent": agent,
    }
    client: Any = agent.client
    try:
        response = await mode.call(client.create, client.a_create, **request)
    except BadRequest as error:
        warnings.warn(f"Cannot extract summary using reflection_with_llm: {error}.", stacklevel=2)
        return ""
    answer: Any = client.extract_text_or_completion_object(response)[0]
    if isinstance(answer, str):
        return answer
    message: Any = answer if hasattr(answer, "keys") else answer.model_dump()
    return content_text(message.get("content"))
