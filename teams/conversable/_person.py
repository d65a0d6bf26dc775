"""An agent's limits on automatic replies, and the person it asks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from teams._base.tool_call import AGENT_PATH, InputRequired
from teams._base.workers import in_daemon_worker
from teams._run.run import current_hooks
from teams.agents._user_proxy import UserProxyAgent
from teams.conversable._human_input import Act, Standing, outcome, question
from teams.conversable._journal import announce_question, step
from teams.conversable._messages import Message
from teams.conversable._mode import Mode, forms
from teams.conversable._printing import IOStream, say
from teams.conversable._protocols import Agent
from teams.conversable._state import AgentState

SKIP, EXIT = "skip", "exit"
"""Answers to choose from where a person can't answer with an empty text."""


class PersonMixin(AgentState):
    """Human input, the end of a conversation, and the counters behind both."""

    MAX_CONSECUTIVE_AUTO_REPLY = 100
    """Limit of automatic replies in a row where none is given."""

    def _begin_person(self, limit: int | None) -> None:
        self._counters = defaultdict(int)
        self._limit = self.MAX_CONSECUTIVE_AUTO_REPLY if limit is None else limit
        self._limits = {}
        self._human_input = []
        self._unmet = {}
        self.reply_at_receive = defaultdict(bool)

    def update_max_consecutive_auto_reply(self, value: int, sender: Agent | None = None) -> None:
        """Change the limit of automatic replies, for one sender or all."""
        if sender is not None:
            self._limits[sender] = value
            return
        self._limit = value
        self._limits.clear()

    def max_consecutive_auto_reply(self, sender: Agent | None = None) -> int:
        """Limit of automatic replies in a row."""
        return self._limit if sender is None else self._limits.get(sender, self._limit)

    def reset_consecutive_auto_reply_counter(self, sender: Agent | None = None) -> None:
        """Count from nought again, for one sender or for all."""
        if sender is None:
            self._counters.clear()
        else:
            self._counters[sender] = 0

    def stop_reply_at_receive(self, sender: Agent | None = None) -> None:
        """Reply no more unless asked, to one sender or to all."""
        if sender is None:
            self.reply_at_receive.clear()
        else:
            self.reply_at_receive[sender] = False

    def get_human_input(self, prompt: str) -> str:
        """Ask the person for a text."""
        if current_hooks().ask is not None:
            raise RuntimeError(
                f"Agent {self.name!r} can't ask its person in a sync chat inside of a run: "
                "use a_initiate_chat."
            )
        answer = IOStream.get_default().input(prompt)
        self._human_input.append(answer)
        return answer

    async def a_get_human_input(self, prompt: str) -> str:
        """Ask the person for a text, through the hook of a run."""
        own = getattr(self.get_human_input, "__func__", None)
        ask = current_hooks().ask if own is PersonMixin.get_human_input else None
        if ask is not None:
            answer = await ask(prompt, None)
            answer = "" if answer == SKIP else answer
            self._human_input.append(answer)
            return answer
        name = f"input of {self.name}"
        return await in_daemon_worker(lambda: self.get_human_input(prompt), name=name)

    async def _check_termination_and_human_reply(
        self,
        mode: Mode,
        messages: list[Message] | None = None,
        sender: Agent | None = None,
        config: object = None,
    ) -> tuple[bool, Message | None]:
        """End the conversation, reply with a person's text, or neither."""
        messages = self._given(messages, sender)
        last = messages[-1] if messages else {}
        standing = Standing(
            mode=self.human_input_mode,
            counter=self._counters[sender],
            limit=self.max_consecutive_auto_reply(sender),
            ended=bool(last and self._is_termination_msg(last)),
        )
        asker = "the sender" if sender is None else sender.name
        act = question(standing, me=self.name, sender=asker)
        if not isinstance(act, Act):
            answer = await self._ask(mode, act, (EXIT,) if standing.ended else (SKIP, EXIT))
            if not answer:
                say("\n>>>>>>>> NO HUMAN INPUT RECEIVED.")
            act = outcome(answer, standing, last)
        if act is Act.AUTO:
            self._counters[sender] += 1
            if self.human_input_mode != "NEVER":
                say("\n>>>>>>>> USING AUTO REPLY...")
            return False, None
        self._counters[sender] = 0
        return True, None if act is Act.EXIT else act

    check_termination_and_human_reply, a_check_termination_and_human_reply = forms(
        _check_termination_and_human_reply
    )

    async def _ask(self, mode: Mode, prompt: str, options: Sequence[str] = ()) -> str:
        """Ask the person, once and for all."""
        request_id = await announce_question(mode, self.name, options)

        async def asked() -> str:
            if not request_id:
                return await self.a_get_human_input(prompt)
            try:
                with UserProxyAgent.InputRequestContext.populate_context(request_id):
                    return await self.a_get_human_input(prompt)
            except InputRequired as required:
                path = (*AGENT_PATH.get(), self.name)
                requests = required.pending(agent=path, request_id=request_id)
                raise InputRequired(requests=requests) from required

        ask = partial(self.get_human_input, prompt)
        return await step(mode, f"answer to {self.name}", [self], ask, asked)
