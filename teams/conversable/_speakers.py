"""Ways to find a next speaker, each a step of the run."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, cast

from teams._run.run import current_hooks
from teams.conversable._facade import run_unsuspended
from teams.conversable._journal import step
from teams.conversable._messages import content_text
from teams.conversable._mode import ASYNC, SYNC, Mode
from teams.conversable._model_messages import spread_tool_responses
from teams.conversable._person import PersonMixin
from teams.conversable._printing import print_received, say
from teams.conversable._protocols import Agent, Function, Message, Settings
from teams.conversable._state import AgentState
from teams.conversable._wrapper import OpenAIWrapper

METHODS = ("auto", "manual", "random", "round_robin")
ASK_FOR_A_NUMBER = (
    "Enter the number of the next speaker (enter nothing or `q` to use auto selection): "
)
_TRIES = 3
_ASKER, _CHOOSER = "checking_agent", "speaker_selection_agent"


class Group(Protocol):
    """A group as the ways know it."""

    agents: list[Agent]
    messages: list[Message]
    max_retries_for_selecting_speaker: int
    speaker_selection_method: str | Function
    select_speaker_auto_multiple_template: str
    select_speaker_auto_none_template: str
    select_speaker_transform_messages: Callable[[list[Message]], list[Message]] | None
    select_speaker_auto_verbose: bool | None
    select_speaker_auto_model_client_cls: Function | list[Function] | None
    select_speaker_auto_llm_config: Settings | Literal[False] | None
    role_for_select_speaker_messages: str | None

    def select_speaker_msg(self, agents: Sequence[Agent] | None = None) -> str:
        """Instructions of the choosing model."""
        ...

    def select_speaker_prompt(self, agents: Sequence[Agent] | None = None) -> str | None:
        """Question to the choosing model."""
        ...


async def chosen_by_function(
    mode: Mode, group: Group, last_speaker: Agent, selector: AgentState
) -> Agent | str | None:
    """Outcome of the group's own function."""
    function: Any = group.speaker_selection_method

    def ask() -> Any:
        return _numbered_choice(group, function(last_speaker, group))

    async def a_ask() -> Any:
        return _numbered_choice(group, await mode.settle(function(last_speaker, group)))

    agents = [selector, *group.agents]
    chosen = await step(mode, "next speaker by the group's function", agents, ask, a_ask)
    return group.agents[chosen] if isinstance(chosen, int) else chosen


def _numbered_choice(group: Group, chosen: object) -> int | str | None:
    """The choice as JSON data: a member's number, a word, or None."""
    if chosen is None or isinstance(chosen, str):
        return chosen
    if not isinstance(chosen, Agent):
        raise ValueError(
            "Custom speaker selection function returned an object of type "
            f"{type(chosen)} instead of Agent or str."
        )
    for number, agent in enumerate(group.agents):
        if agent is chosen:
            return number
    raise ValueError(
        f"Custom speaker selection function returned an agent {chosen.name} not in the group chat."
    )


async def chosen_by_chance(mode: Mode, group: Group, candidates: Sequence[Agent]) -> Agent:
    """One of the candidates."""

    def draw() -> int:
        return random.randrange(len(candidates))

    number: int = await step(mode, "next speaker by chance", [], draw)
    return candidates[number]


def numbered(agents: Sequence[Agent]) -> str:
    """The agents in numbered lines."""
    lines = [f"{number}: {agent.name}" for number, agent in enumerate(agents, 1)]
    return "\n".join(["Please select the next speaker from the following list:", *lines])


def named_choice(answer: str, candidates: Sequence[Agent]) -> Agent | None:
    """The candidate whose name or number a person has entered."""
    if (named := next((each for each in candidates if each.name == answer), None)) is not None:
        return named
    number = int(answer[:9]) if answer.isdecimal() else 0
    return candidates[number - 1] if 0 < number <= len(candidates) else None


async def chosen_by_person(
    mode: Mode, candidates: Sequence[Agent], selector: AgentState
) -> Agent | None:
    """The person's choice; None if there is none after three tries."""
    if not isinstance(selector, PersonMixin):
        return None
    listed, names = numbered(candidates), [agent.name for agent in candidates]
    say(listed)
    in_a_run = mode.is_async and current_hooks().ask is not None
    prompt = f"{listed}\n{ASK_FOR_A_NUMBER}" if in_a_run else ASK_FOR_A_NUMBER
    for left in range(_TRIES - 1, -1, -1):
        answer = (await selector._ask(mode, prompt, names)).strip()  # pyright: ignore[reportPrivateUsage]
        if answer in ("", "q"):
            return None
        if (chosen := named_choice(answer, candidates)) is not None:
            return chosen
        if left:
            say(f"Invalid input. Please enter a number between 1 and {len(candidates)}.")
    say(f"You have tried {_TRIES} times. The next speaker will be selected automatically.")
    return None


async def chosen_by_model(
    mode: Mode, group: Group, candidates: Sequence[Agent], selector: AgentState
) -> Agent | None:
    """The model's choice; None if it never names one agent."""
    client = _client(group, selector)
    if client is None:
        raise ValueError(
            "The group chat's internal speaker selection agent does not have an LLM "
            "configuration. Please provide a valid LLM config to the group chat's "
            "GroupChatManager or set it with the select_speaker_auto_llm_config parameter."
        )
    ask = partial(
        _ask_model, group=group, candidates=candidates, client=client, cache=selector.client_cache
    )
    plain = partial(_unsuspended, ask)
    what = "next speaker by the model"
    try:
        chosen: int | None = await step(mode, what, [selector], plain, partial(ask, ASYNC))
    finally:
        if client is not selector.client:
            _count(client, selector)
    return None if chosen is None else candidates[chosen]


def _count(client: OpenAIWrapper, selector: AgentState) -> None:
    """Add the usage of a client that chose for the selector."""
    if selector.counted is None:
        selector.chooser = client
    else:
        selector.counted.add_usage_of(client)


def _unsuspended(ask: Function) -> Any:
    return run_unsuspended(ask(SYNC))


def _client(group: Group, selector: AgentState) -> Any:
    config = group.select_speaker_auto_llm_config
    if not config:
        return selector.client
    client = OpenAIWrapper(**config)
    classes: Any = group.select_speaker_auto_model_client_cls or []
    for each in cast("list[Function]", classes if isinstance(classes, list) else [classes]):
        client.register_model_client(each)
    return client


async def _ask_model(
    mode: Mode, *, group: Group, candidates: Sequence[Agent], client: Any, cache: Any
) -> int | None:
    """Number of the candidate that the model names."""
    transform = group.select_speaker_transform_messages
    said = [dict(message) for message in group.messages]
    talk: list[Message] = [
        {"role": "system", "content": group.select_speaker_msg(candidates)},
        *(said if transform is None else transform(said)),
    ]
    names, asked = [agent.name for agent in candidates], group.select_speaker_prompt(candidates)
    for attempt in range(1, group.max_retries_for_selecting_speaker + 2):
        if asked is not None:
            role = group.role_for_select_speaker_messages
            talk.append({"content": asked, "name": _ASKER, "role": role})
            _show(group, talk[-1], _CHOOSER)
        messages = spread_tool_responses(talk)
        response = await mode.call(
            client.create, client.a_create, messages=messages, context=None, cache=cache
        )
        found: Any = client.extract_text_or_completion_object(response)[0]
        answer = found if isinstance(found, str) else content_text(getattr(found, "content", ""))
        talk.append({"content": answer, "name": _CHOOSER, "role": "assistant"})
        _show(group, talk[-1], _ASKER)
        named = mentioned(answer, names)
        if len(named) == 1:
            return names.index(named[0])
        if group.select_speaker_auto_verbose:
            say(f">>>>>>>> Select speaker attempt #{attempt} failed: it named {len(named)} agents.")
        template = group.select_speaker_auto_multiple_template
        if not named:
            template = group.select_speaker_auto_none_template
        asked = template.format(agentlist=str(names))
    return None


def _show(group: Group, message: Message, recipient: str) -> None:
    if group.select_speaker_auto_verbose:
        print_received(message, sender=message["name"], recipient=recipient, formats=False)


def mentioned(text: str, names: Sequence[str]) -> list[str]:
    """Names that a text mentions, also with spaces or `\\_` for underscores."""
    return [name for name in dict.fromkeys(names) if _forms(name).search(text)]


def _forms(name: str) -> re.Pattern[str]:
    forms = {name, name.replace("_", " "), name.replace("_", r"\_")}
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, forms))})(?!\w)")
