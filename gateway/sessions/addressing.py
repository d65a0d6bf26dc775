"""Tasks for one agent, which is to speak first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.content.addressee import addressee_of
from gateway.content.task import OURS
from gateway.sessions.live_team import LiveTeam
from gateway.store.turn_records import QueuedMessage
from gateway.values import value
from teams import BaseGroupChat
from teams.messages import BaseChatMessage, HandoffMessage, TextMessage

NOT_FIRST = (
    "@{name} can't be called first: {chooser} decides who speaks. The message goes to the whole "
    "team."
)


GO_ON = (
    "(The last answer of {name} was cut off at the token limit. {name} goes on exactly where it "
    "stopped, in the same form, does not repeat any of it, and does not speak of this note.)"
)
"""The task of a turn in which an agent goes on, for models."""
CAN_GO_ON = "{name} can go on from there."
CANT_GO_ON = "{name} can't go on from there: {chooser} decides who speaks."


@value
class Call:
    """Effect of a named agent: a hand-off to give, or a notice."""

    handoff_to: str = ""
    notice: str = ""


async def call_addressee(
    live: LiveTeam, messages: Sequence[QueuedMessage], names: Collection[str]
) -> Call:
    """Let the agent that the messages name speak first, if possible.

    Of several messages the first that names an agent counts. What an earlier, failed run left
    unfinished is given up: its agent would otherwise speak first.
    """
    texts = [message.text for message in messages if message.text.startswith("@")]
    if not texts:
        return Call()
    team = live.team if isinstance(live.team, BaseGroupChat) else None
    known = [*names, *(team.all_names if team is not None else ())]
    found = (addressee_of(text, known) for text in texts)
    if (addressee := next(filter(None, found), None)) is None:
        return Call()
    return await call(live, addressee.name)


async def call(live: LiveTeam, name: str) -> Call:
    """Let this agent speak first, if possible."""
    team = live.team
    if not isinstance(team, BaseGroupChat) or not can_call(live, name):
        return Call(notice=NOT_FIRST.format(name=name, chooser=_chooser(live)))
    if not live.hands_off:
        await team.call_on(name)
        return Call()
    await team.abandon_turn()
    return Call(handoff_to=name)


async def go_on(live: LiveTeam, name: str) -> list[BaseChatMessage] | str:
    """The task with which an agent goes on, or an obstacle."""
    if not can_call(live, name):
        return CANT_GO_ON.format(name=name, chooser=_chooser(live))
    called, text = await call(live, name), GO_ON.format(name=name)
    if called.handoff_to:
        return [HandoffMessage(source=OURS, target=called.handoff_to, content=text)]
    return [TextMessage(source=OURS, content=text)]


def can_call(live: LiveTeam, name: str) -> bool:
    """True if `call` lets this agent speak first."""
    team = live.team
    if not isinstance(team, BaseGroupChat):
        return False
    return name in team.participant_names if live.hands_off else team.can_call_on(name)


def _chooser(live: LiveTeam) -> str:
    return live.team.chooser if isinstance(live.team, BaseGroupChat) else BaseGroupChat.chooser
