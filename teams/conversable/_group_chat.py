"""Groups of agents that take turns: members, messages, transitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from teams.conversable._errors import AgentNameConflict, NoEligibleSpeaker, UndefinedNextAgent
from teams.conversable._messages import calls_of
from teams.conversable._mode import Mode, forms
from teams.conversable._printing import IOStream, say
from teams.conversable._protocols import Agent, Function, Message, Settings
from teams.conversable._speakers import (
    ASK_FOR_A_NUMBER,
    METHODS,
    chosen_by_chance,
    chosen_by_function,
    chosen_by_model,
    chosen_by_person,
    named_choice,
    numbered,
)
from teams.conversable._state import AgentState

ROLES = """You are in a role play game. The following roles are available:
                {roles}.
                Read the following conversation.
                Then select the next role from {agentlist} to play. Only return the role."""
PROMPT = (
    "Read the above conversation. Then select the next role from {agentlist} to play. "
    "Only return the role."
)
SEVERAL = """Your answer names more than one role, and only one can be next. Decide in this order:
1. the role as which the answer itself speaks ("As the ...")
2. the role that it calls the next one
3. the role that it names first
Reply with this one name, written exactly as given, and with nothing else."""
NONE = """Your answer names none of the roles. Decide in this order:
1. the role as which the answer itself speaks ("As the ...")
2. the role that it calls the next one
3. the role that it names first
The names are {agentlist}. Reply with one of them, written exactly so, and with nothing else."""

Method = str | Function


@dataclass(eq=False)
class GroupChat:
    """Agents of a group, and how the next speaker is found."""

    agents: list[Agent]
    """Members of the group; managers of other groups may be among them."""

    messages: list[Message] = field(default_factory=list[Message])
    """Messages of the group, for all methods of selection."""

    max_round: int = 10
    """Messages after which the chat ends, the first one included."""

    admin_name: str = "Admin"
    """Member that speaks when Ctrl+C interrupts another one."""

    func_call_filter: bool = True
    """After a call, only those that can execute it may be next."""

    speaker_selection_method: Method = "auto"
    """One of four words, or a function of the last speaker and the group.

    It returns a member, one of the words, or None, which ends the chat.
    """

    max_retries_for_selecting_speaker: int = 2
    """Further questions to a model whose answer names no member, or several."""

    allow_repeat_speaker: bool | list[Agent] | None = None
    """False if nobody speaks twice in a row; a list of those that may."""

    allowed_or_disallowed_speaker_transitions: Mapping[Agent, list[Agent]] | None = None
    """By member, those that may or may not speak next."""

    speaker_transitions_type: Literal["allowed", "disallowed"] | None = None
    """Meaning of the transitions."""

    enable_clear_history: bool = False
    """A person's reply with the words CLEAR HISTORY makes members forget."""

    send_introductions: bool = False
    """Tell all who is in the group before the chat."""

    select_speaker_message_template: str = ROLES
    select_speaker_prompt_template: str | None = PROMPT
    select_speaker_auto_multiple_template: str = SEVERAL
    select_speaker_auto_none_template: str = NONE
    select_speaker_transform_messages: Callable[[list[Message]], list[Message]] | None = None
    """Messages that the choosing model is shown, made of the group's."""

    select_speaker_auto_verbose: bool | None = False
    """Print the talk with the choosing model."""

    select_speaker_auto_model_client_cls: Function | list[Function] | None = None
    """Classes of model clients for the config that follows."""

    select_speaker_auto_llm_config: Settings | Literal[False] | None = None
    """Config of the choosing model; the manager's if not given."""

    role_for_select_speaker_messages: str | None = "system"
    allowed_speaker_transitions_dict: dict[Agent, list[Agent]] = field(init=False)
    """By member, those that may speak next."""

    def __post_init__(self) -> None:
        for name in _NEEDED:
            if not getattr(self, name):
                raise ValueError(f"{name} cannot be empty or None.")
        if self.max_retries_for_selecting_speaker < 0:
            raise ValueError("max_retries_for_selecting_speaker must be greater than or equal to 0")
        if not isinstance(self.select_speaker_auto_verbose, bool):
            raise ValueError("select_speaker_auto_verbose cannot be None or non-bool")
        transform: object = self.select_speaker_transform_messages
        if not (transform is None or callable(transform)):
            raise ValueError("select_speaker_transform_messages must be None or a function.")
        self.allowed_speaker_transitions_dict = self._allowed()

    def _allowed(self) -> dict[Agent, list[Agent]]:
        given, repeat = self.allowed_or_disallowed_speaker_transitions, self.allow_repeat_speaker
        if given is None:
            repeat = self.allow_repeat_speaker = True if repeat is None else repeat
            if not isinstance(cast("object", repeat), bool | list):
                raise ValueError("allow_repeat_speaker should be a bool or a list of agents.")
            repeating = repeat if isinstance(repeat, list) else self.agents if repeat else []
            return {
                agent: [
                    *(each for each in self.agents if each is not agent),
                    *(each for each in repeating if each is agent),
                ]
                for agent in self.agents
            }
        if repeat is not None:
            raise ValueError(
                "Give allowed_or_disallowed_speaker_transitions or allow_repeat_speaker, not both."
            )
        meant = str(self.speaker_transitions_type).lower()
        if meant not in ("allowed", "disallowed"):
            raise ValueError(
                f"speaker_transitions_type is {self.speaker_transitions_type!r}: with "
                "allowed_or_disallowed_speaker_transitions it is 'allowed' or 'disallowed'."
            )
        if not all(isinstance(each, list) for each in cast("Settings", given).values()):
            raise ValueError("allowed_or_disallowed_speaker_transitions needs lists as values.")
        if meant == "allowed":
            return dict(given)
        return {
            agent: [each for each in self.agents if each not in given.get(agent, ())]
            for agent in self.agents
        }

    @property
    def agent_names(self) -> list[str]:
        """Names of the members."""
        return [agent.name for agent in self.agents]

    def reset(self) -> None:
        """Forget the messages."""
        self.messages.clear()

    def append(self, message: Message, speaker: Agent) -> None:
        """Add a message, with its speaker's name."""
        self.messages.append(spoken(message, speaker))

    def nested_agents(self) -> list[Agent]:
        """Members, and those of the groups that members manage."""
        inner = (getattr(agent, "groupchat", None) for agent in self.agents)
        within = [each for group in inner if group is not None for each in group.nested_agents()]
        return [*self.agents, *within]

    def agent_by_name(
        self, name: str, recursive: bool = False, raise_on_name_conflict: bool = False
    ) -> Agent | None:
        """Member of a name, or None."""
        found = [
            agent
            for agent in (self.nested_agents() if recursive else self.agents)
            if agent.name == name
        ]
        if raise_on_name_conflict and len(found) > 1:
            raise AgentNameConflict
        return found[0] if found else None

    def next_agent(self, agent: Agent, agents: Sequence[Agent] | None = None) -> Agent:
        """Next member in order; `agents` are those to choose from."""
        offset = self.agents.index(agent) + 1 if agent in self.agents else 0
        for each in [*self.agents[offset:], *self.agents[:offset]]:
            if agents is None or each in agents:
                return each
        raise UndefinedNextAgent

    def introductions_msg(self, agents: Sequence[Agent] | None = None) -> str:
        """Text that introduces the members."""
        return (
            "Hello everyone. We have assembled a great team today to answer questions and solve "
            f"tasks. In attendance are:\n\n{_roles(agents or self.agents)}"
        )

    def select_speaker_msg(self, agents: Sequence[Agent] | None = None) -> str:
        """Instructions of the choosing model."""
        listed = agents or self.agents
        return self.select_speaker_message_template.format(
            roles=_roles(listed), agentlist=_names(listed)
        )

    def select_speaker_prompt(self, agents: Sequence[Agent] | None = None) -> str | None:
        """Question to the choosing model; None without a template."""
        template = self.select_speaker_prompt_template
        return template and template.format(agentlist=_names(agents or self.agents))

    def manual_select_speaker(self, agents: Sequence[Agent] | None = None) -> Agent | None:
        """Member that the person at the console chooses, or None."""
        listed = agents or self.agents
        say(numbered(listed))
        return named_choice(IOStream.get_default().input(ASK_FOR_A_NUMBER).strip(), listed)

    def random_select_speaker(self, agents: Sequence[Agent] | None = None) -> Agent:
        """Any of the agents."""
        return random.choice(agents or self.agents)

    async def _select_speaker(
        self, mode: Mode, last_speaker: Agent, selector: AgentState
    ) -> Agent | None:
        """The next speaker, or None.

        Raises NoEligibleSpeaker for a speaker that is not among the transitions.
        """
        method: Any = self.speaker_selection_method
        if not isinstance(method, str):
            method = await chosen_by_function(mode, self, last_speaker, selector)
            if not isinstance(method, str):
                return method
        if method.lower() not in METHODS:
            raise ValueError(
                f"GroupChat speaker_selection_method is set to {method!r}. "
                f"It should be one of {list(METHODS)} (case insensitive)."
            )
        candidates = self._candidates(last_speaker)
        if len(candidates) == 1:
            return candidates[0]
        chosen: Agent | None = None
        match method.lower():
            case "auto":
                chosen = await chosen_by_model(mode, self, candidates, selector)
            case "manual":
                chosen = await chosen_by_person(mode, candidates, selector)
            case "random":
                chosen = await chosen_by_chance(mode, self, candidates)
            case _:
                pass
        return chosen or self.next_agent(last_speaker, candidates)

    select_speaker, a_select_speaker = forms(_select_speaker)

    def _candidates(self, last_speaker: Agent) -> list[Agent]:
        if len(self.agents) < 2:  # noqa: PLR2004
            raise ValueError(
                f"GroupChat is underpopulated with {len(self.agents)} agents. Please add more "
                "agents to the GroupChat or use direct communication instead."
            )
        called = [call.name for call in calls_of(self.messages[-1])] if self.messages else []
        if called and self.func_call_filter:
            able = [agent for agent in self.agents if _can_execute(agent, called)]
            if not able:
                raise ValueError(
                    f"No agent can execute the function {', '.join(called)}. "
                    "Please check the function_map of the agents."
                )
            return able
        if last_speaker not in self.agents:
            return self.agents
        if last_speaker not in self.allowed_speaker_transitions_dict:
            raise NoEligibleSpeaker(
                f"Last speaker {last_speaker.name} is not in the allowed_speaker_transitions_dict."
            )
        allowed = self.allowed_speaker_transitions_dict[last_speaker]
        return [agent for agent in self.agents if agent in allowed] or self.agents


_NEEDED = (
    "select_speaker_message_template",
    "select_speaker_auto_multiple_template",
    "select_speaker_auto_none_template",
    "role_for_select_speaker_messages",
)


def spoken(message: Message, speaker: Agent) -> Message:
    """A message as the group knows it: with its speaker's name."""
    if message.get("role") in {"function", "tool"}:
        return message
    return {**message, "role": message.get("role", "user"), "name": speaker.name}


def _roles(agents: Sequence[Agent]) -> str:
    return "\n".join(f"{agent.name}: {agent.description}".strip() for agent in agents)


def _names(agents: Sequence[Agent]) -> str:
    return str([agent.name for agent in agents])


def _can_execute(agent: Agent, names: Sequence[str]) -> bool:
    can: Function | None = getattr(agent, "can_execute_function", None)
    return can is not None and any(can([name]) for name in names)
