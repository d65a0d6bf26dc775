"""The team beside the chat: each agent's state, model, tool and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from adapters.terminal.text import format_cost, format_tokens

if TYPE_CHECKING:
    from gateway.agent_state import AgentState

MUTED = "$muted"
NOT_YET = "not asked yet"


class TeamPanel(Static):
    """A few lines for each agent, in the team's order."""

    def __init__(self) -> None:
        super().__init__(markup=False, id="team-panel")
        self._shown = Content()

    def show(self, team: str, agents: Mapping[str, str], states: Mapping[str, AgentState]) -> None:
        """Draw agents with their models; those who spoke have states."""
        parts = [Content.assemble(("Team", MUTED), f" {team}")]
        parts += [_agent(name, model, states.get(name)) for name, model in agents.items()]
        content = Content("\n\n").join(parts)
        if not content.is_same(self._shown):
            self._shown = content
            self.update(content, layout=False)


def _agent(name: str, model: str, state: AgentState | None) -> Content:
    cost = ""
    if state and (used := state.used).tokens:
        cost = f"{format_tokens(used.tokens)} tokens  {format_cost(used)}"
    colour = f"bold $agent-{state.agent.colour}" if state else MUTED
    mark, doing, style = _doing(state)
    lines = [Content.assemble((mark, style), (name, colour)), Content.styled(f"  {doing}", style)]
    more = [Content.styled(f"  {each}", MUTED) for each in (model, cost) if each]
    return Content("\n").join([*lines, *more])


def _doing(state: AgentState | None) -> tuple[str, str, str]:
    """The agent's mark, its state in words, and their style."""
    if state is None:
        return "· ", NOT_YET, MUTED
    match state.doing:
        case "":
            return "· ", "rests", MUTED
        case "working":
            return "● ", "writes", f"$agent-{state.agent.colour}"
        case "asks you":
            return "? ", "asks you", "$warning"
        case tool:
            return "● ", f"runs {tool}", f"$agent-{state.agent.colour}"
