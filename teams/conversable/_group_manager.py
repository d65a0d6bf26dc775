"""GroupChatManager: an agent whose reply is a talk of its group."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, cast

from teams.conversable._agent import ConversableAgent
from teams.conversable._chats import ChatsMixin
from teams.conversable._errors import NoEligibleSpeaker
from teams.conversable._group_chat import GroupChat, spoken
from teams.conversable._human_input import HumanInputMode
from teams.conversable._journal import inside, joined_messages, step
from teams.conversable._messages import calls_of, content_text
from teams.conversable._mode import Mode, forms
from teams.conversable._printing import say
from teams.conversable._protocols import Agent, Flag, Function, Given, Message, Sent, Settings
from teams.conversable._replies import Reply
from teams.conversable._state import first_kept

_CLEAR = re.compile(r"clear history\w*[.,]?", re.IGNORECASE)


class GroupChatManager(ConversableAgent):
    """Lets the agents of a group speak; all hear each message.

    A chat with it ends after `max_round` messages, at a message that `is_termination_msg` tells,
    or when nobody is to speak or the speaker has no reply.
    """

    component_provider_override = None

    def __init__(
        self,
        groupchat: GroupChat,
        name: str = "chat_manager",
        max_consecutive_auto_reply: int | None = sys.maxsize,
        human_input_mode: HumanInputMode = "NEVER",
        system_message: str | list[Any] | None = "Group chat manager.",
        silent: bool = False,
        *,
        llm_config: Settings | Literal[False] | None = None,
        **kwargs: Any,
    ) -> None:
        if llm_config and (llm_config.get("functions") or llm_config.get("tools")):
            raise ValueError(
                "GroupChatManager is not allowed to make function/tool calls. Please remove the "
                "'functions' or 'tools' config in 'llm_config' you passed in."
            )
        super().__init__(
            name,
            system_message,
            max_consecutive_auto_reply=max_consecutive_auto_reply,
            human_input_mode=human_input_mode,
            llm_config=llm_config,
            **kwargs,
        )
        self._groupchat = groupchat
        self._is_quiet = silent
        self._last_speaker: Agent | None = None
        manager = GroupChatManager
        self._insert(
            0, Reply(Agent, manager.run_chat, manager.a_run_chat, partners=groupchat.agents)
        )

    @property
    def groupchat(self) -> GroupChat:
        """The group."""
        return self._groupchat

    @property
    def last_speaker(self) -> Agent | None:
        """Agent that spoke last, also while the next one is chosen."""
        return self._last_speaker

    def chat_messages_for_summary(self, agent: Agent) -> list[Message]:
        """Messages of the group."""
        return self._groupchat.messages

    def _prepare(self, partner: Agent, *, clear: bool, replies: bool) -> None:
        super()._prepare(partner, clear=clear, replies=replies)
        if clear:
            self._forget(partner)

    def _forget(self, *but: Agent) -> None:
        """Clear what the group said before."""
        self._groupchat.reset()
        for agent in self._groupchat.agents:
            if isinstance(agent, ChatsMixin) and agent not in but:
                agent._prepare(self, clear=True, replies=False)
                self.clear_history(agent)

    async def _next_reply(self, mode: Mode, partner: Agent) -> Sent | None:
        return await self._own_reply(mode, partner)  # what joins goes to the group

    async def _run_chat(
        self,
        mode: Mode,
        messages: list[Message] | None = None,
        sender: Agent | None = None,
        config: GroupChat | None = None,
    ) -> tuple[bool, None]:
        """Let the group talk about the last message."""
        group = config or self._groupchat
        speaker: Agent = self if sender is None else sender
        message = self._given(messages, sender)[-1]
        if group.send_introductions:
            await self._tell(mode, group.introductions_msg(), group.agents)
        for left in range(group.max_round - 1, -1, -1):
            self._last_speaker = speaker
            message = await self._spread(mode, group, message, speaker)
            if await self._is_ended(mode, message) or not left:
                break
            for joined in joined_messages(mode):
                await self._spread(mode, group, {**joined, "role": "user"}, None)
            try:
                chosen, reply = await self._next_word(mode, group, speaker)
            except NoEligibleSpeaker:
                break
            if chosen is None or reply is None:
                break
            if group.enable_clear_history and isinstance(reply, dict) and _clears(reply):
                reply["content"] = self.clear_agents_history(reply, group)
            await mode.call(
                chosen.send, chosen.a_send, reply, self, request_reply=False, silent=self._is_quiet
            )
            speaker, message = chosen, self._conversation(chosen)[-1]
        return True, None

    run_chat, a_run_chat = forms(_run_chat)

    async def _is_ended(self, mode: Mode, message: Message) -> bool:
        def ended() -> bool:
            return bool(self._is_termination_msg(message))

        return await step(mode, f"end of {self.name}", [], ended)

    async def _spread(
        self, mode: Mode, group: GroupChat, message: Message, speaker: Agent | None
    ) -> Message:
        """Add a message, and tell it to all but its speaker."""
        said = message if speaker is None else spoken(message, speaker)
        group.messages.append(said)
        await self._tell(mode, said, [each for each in group.agents if each is not speaker])
        return said

    async def _tell(self, mode: Mode, message: Sent, agents: Sequence[Agent]) -> None:
        with inside(mode, hidden=True):
            for agent in agents:
                tell = (self.send, self.a_send)
                await mode.call(*tell, message, agent, request_reply=False, silent=True)

    async def _next_word(
        self, mode: Mode, group: GroupChat, speaker: Agent
    ) -> tuple[Agent | None, Sent | None]:
        """The next speaker, and what it says."""
        try:
            chosen = await mode.call(group.select_speaker, group.a_select_speaker, speaker, self)
            if chosen is None:
                return None, None
            if not (self._is_quiet or mode.is_async):
                say(f"\nNext speaker: {chosen.name}\n")
            return chosen, await self._reply_of(mode, chosen)
        except KeyboardInterrupt:
            admin = group.agent_by_name(group.admin_name)
            if admin is None:
                raise
            return admin, await self._reply_of(mode, admin)

    async def _reply_of(self, mode: Mode, agent: Agent) -> Sent | None:
        if isinstance(agent, ChatsMixin):
            return await agent._own_reply(mode, self)
        make, a_make = (
            partial(each, sender=self) for each in (agent.generate_reply, agent.a_generate_reply)
        )
        return await step(mode, f"reply of {agent.name}", [self], make, a_make, speaker=agent.name)

    def clear_agents_history(self, reply: Message, groupchat: GroupChat) -> str:
        """Let members forget, as the reply's words CLEAR HISTORY say.

        A member's name after them means this one alone; a number is how many messages stay.
        Returns the reply's text without these words.
        """
        text = content_text(reply["content"])
        found = _CLEAR.search(text)
        before, after = text.split(), list[str]()
        if found is not None:
            before, after = text[: found.start()].split(), text[found.end() :].split()
        agent = groupchat.agent_by_name(after[0]) if after else None
        if agent is not None:
            del after[0]
        kept = int(after.pop(0)) if after and re.fullmatch(r"[0-9]{1,9}", after[0]) else 0
        but = f" except last {kept} events" if kept else ""
        say(f"Clearing history for {agent.name if agent else 'all agents'}{but}.")
        if agent is None:
            del groupchat.messages[: first_kept(groupchat.messages, kept)]
        for each in groupchat.agents if agent is None else [agent]:
            if isinstance(each, ChatsMixin):
                each.clear_history(nr_messages_to_preserve=kept)
        return " ".join([*before, *after])

    async def _resume(
        self,
        mode: Mode,
        messages: list[Message] | str,
        remove_termination_string: str | Function | None = None,
        silent: Flag = False,
    ) -> tuple[Agent, Message]:
        """Put the group where these messages left it.

        Returns the last speaker and message, with which the chat goes on:
        `last_speaker.initiate_chat(manager, message=last_message, clear_history=False)`.
        """
        told = self._checked(messages)
        self._forget()
        for message, agent in told[:-1]:
            if agent is not self:
                with inside(mode, hidden=True):
                    send = (agent.send, agent.a_send)
                    await mode.call(*send, message, self, request_reply=False, silent=True)
            await self._spread(mode, self._groupchat, message, agent)
        last, speaker = dict(told[-1][0]), told[-1][1]
        text, ending = last.get("content"), remove_termination_string
        if ending and isinstance(text, str):
            last["content"] = text.replace(ending, "") if isinstance(ending, str) else ending(text)
        if not silent:
            say(f"Prepared group chat with {len(told)} events, the last speaker is {speaker.name}")
        return speaker, last

    resume, a_resume = forms(_resume)

    def _checked(self, messages: list[Message] | str) -> list[tuple[Message, Agent]]:
        """The messages with their speakers; ValueError for what can't be resumed."""
        given = self.messages_from_string(messages) if isinstance(messages, str) else messages
        if not isinstance(cast("object", given), list):
            raise ValueError("Messages is not of type str or List[Dict]")
        told: list[tuple[Message, Agent]] = []
        for message in given:
            name = message.get("name", self.name)
            agent = self if name == self.name else self._groupchat.agent_by_name(name)
            if agent is None:
                raise ValueError(
                    f"Agent name in message doesn't exist as agent in group chat: {name}"
                )
            told.append(({**message, "name": name}, agent))
        if not told:
            raise ValueError(
                "Cannot resume group chat as no messages were provided. Use "
                "GroupChatManager.run_chat or ConversableAgent.initiate_chat to start a new chat."
            )
        return told

    def messages_to_string(self, messages: list[Message]) -> str:
        """The messages as JSON text."""
        return json.dumps(messages)

    def messages_from_string(self, message_string: str) -> list[Message]:
        """Messages of a JSON text; ValueError for another text."""
        with suppress(json.JSONDecodeError):
            return json.loads(message_string)
        raise ValueError("Messages string is not a valid JSON string")

    def _said_last(self) -> str | None:
        said = self._groupchat.messages
        return content_text(said[-1].get("content")) if said else None

    def _own_state(self) -> Settings:
        speaker = self._last_speaker
        messages = [*self._groupchat.messages]
        return {"group": {"messages": messages, "last_speaker": speaker and speaker.name}}

    def _load_own_state(self, state: Given, partners: Iterable[Agent]) -> None:
        saved: Given = state["group"]
        self._groupchat.messages[:] = [dict(each) for each in saved["messages"]]
        known = {each.name: each for each in (*partners, *self._groupchat.agents, self)}
        self._last_speaker = known.get(saved["last_speaker"])

    def reset(self) -> None:
        super().reset()
        self._groupchat.reset()


def _clears(reply: Message) -> bool:
    """True for a person's own words, not a tool's or a model's."""
    own = reply.get("role", "user") == "user" and not calls_of(reply)
    return own and _CLEAR.search(content_text(reply.get("content"))) is not None
