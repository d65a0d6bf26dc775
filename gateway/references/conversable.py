"""A check of teams of type "conversable": names, and ends of chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateway.config.conversable import PERSON, ChatConfig, ConversableTeam
from gateway.config.problems import Problem
from gateway.config.toml import KeyPath
from gateway.references.agents import AgentChecker, Roster
from gateway.references.lookup import Lookup

ENDLESS = (
    "is missing: give max_turns, or one of {both} a termination or max_consecutive_auto_reply, "
    'or ask its person with human_input_mode = "ALWAYS"; else the chat has no end'
)
ENDS = ("termination", "max_consecutive_auto_reply")


class ConversableChecker:
    """Finds what is wrong with one team, which stands at `path`."""

    def __init__(self, lookup: Lookup, path: KeyPath, team: ConversableTeam) -> None:
        self._lookup = lookup
        self._path = path
        self._team = team
        written = lookup.names("teams", str(path[1]), "agents")
        self._names = list(dict.fromkeys([*(written or team.agents), PERSON]))

    def check(self) -> Iterator[Problem]:
        """Every name that leads nowhere, and every chat without an end."""
        team, path, names = self._team, self._path, self._names
        roster = Roster(agents=names, members=names, outside=(), speakers=names)
        yield from AgentChecker(self._lookup, roster).part(path, "", team)
        if team.recipient:
            yield from self._talk(path, team, team.starter, team.recipient)
        yield from self._queue((*path, "chats"), team.chats, PERSON)
        yield from self._order()
        for name, agent in team.agents.items():
            place = (*path, "agents", name)
            if agent.tools and agent.model is None:
                text = "found tools, expected a model that calls them: name one"
                yield Problem(path=(*place, "tools"), text=text)
            for at, nested in enumerate(agent.nested):
                yield from self._nested((*place, "nested", at, "chats"), nested.chats, name)

    def _order(self) -> Iterator[Problem]:
        """Numbers of chats that lead nowhere, or twice to one."""
        chats = self._team.chats
        numbers = [chat.chat_id for chat in chats]
        for at, chat in enumerate(chats):
            path: KeyPath = (*self._path, "chats", at)
            numbered = any(number is not None for number in numbers)
            if numbered and self._lookup.written(*path, "chat_id") is None:
                text = "is missing: other chats have one"
                yield Problem(path=(*path, "chat_id"), text=text)
            elif chat.chat_id is not None and chat.chat_id in numbers[:at]:
                text = f"found {chat.chat_id} again, expected a number for each chat"
                yield Problem(path=(*path, "chat_id"), text=text)
            for n, number in enumerate(chat.prerequisites):
                if number not in numbers[:at]:
                    text = f"found {number}, expected the chat_id of an earlier chat"
                    yield Problem(path=(*path, "prerequisites", n), text=text)

    def _nested(self, path: KeyPath, chats: Sequence[ChatConfig], name: str) -> Iterator[Problem]:
        yield from self._queue(path, chats, name)
        for at, chat in enumerate(chats[1:], 1):
            if chat.message is None:
                text = "is missing: only the first of nested chats begins without one"
                yield Problem(path=(*path, at, "message"), text=text)

    def _queue(self, path: KeyPath, chats: Sequence[ChatConfig], sender: str) -> Iterator[Problem]:
        for at, chat in enumerate(chats):
            yield from self._talk((*path, at), chat, chat.sender or sender, chat.recipient)

    def _talk(
        self, path: KeyPath, chat: ChatConfig | ConversableTeam, sender: str, recipient: str
    ) -> Iterator[Problem]:
        both = [sender, recipient]
        if sender == recipient:
            text = f"found {recipient!r}, expected another agent than the one that begins"
            yield Problem(path=(*path, "recipient"), text=text)
        agents = [self._team.agents.get(name) for name in both]
        if any(agent is None and name != PERSON for agent, name in zip(agents, both, strict=True)):
            return  # that is a mistake of its own
        known = [agent for agent in agents if agent is not None]
        if chat.summary_method == "reflection_with_llm" and all(e.model is None for e in known):
            text = 'found "reflection_with_llm", expected a model for one of the two agents'
            yield Problem(path=(*path, "summary_method"), text=text)
        if self._lookup.written(*path, "max_turns") is None and not any(map(self._ends, both)):
            text = ENDLESS.format(both=" and ".join(map(repr, both)))
            yield Problem(path=(*path, "max_turns"), text=text)

    def _ends(self, name: str) -> bool:
        """True if the agent ends a chat at some time."""
        agent, path = self._team.agents.get(name), (*self._path, "agents", name)
        if agent is None or agent.human_input_mode == "ALWAYS":
            return True  # its person does
        written = (self._lookup.written(*path, key) for key in ENDS)
        return any(each is not None for each in written)
