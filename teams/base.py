"""The engine's contracts: agents, teams, termination conditions and run results.

Errors: `TeamError` when a run fails, raised from its cause; `TerminatedException` when a condition
is asked again after it fired. `InputRequired` suspends a run instead of failing it.
"""

from __future__ import annotations

from teams._base.tool_call import InputRequired, PendingInput, ToolCall, current_tool_call
from teams._contract.agent import ChatAgent, Response
from teams._contract.team import DurableTeam, TaskResult, TaskRunner, Team, TeamError
from teams._contract.termination import (
    AndTerminationCondition,
    OrTerminationCondition,
    TerminatedException,
    TerminationCondition,
)
from teams._run.run import RunHooks, ToolInterceptor, run_hooks, run_in_path
from teams._snapshot.saved_messages import SavedMessages
from teams.agents._handoff import Handoff
from teams.models._client import ModelRequest, ModelWatch
from teams.models._instructions import Instructions

__all__ = [
    "AndTerminationCondition",
    "ChatAgent",
    "DurableTeam",
    "Handoff",
    "InputRequired",
    "Instructions",
    "ModelRequest",
    "ModelWatch",
    "OrTerminationCondition",
    "PendingInput",
    "Response",
    "RunHooks",
    "SavedMessages",
    "TaskResult",
    "TaskRunner",
    "Team",
    "TeamError",
    "TerminatedException",
    "TerminationCondition",
    "ToolCall",
    "ToolInterceptor",
    "current_tool_call",
    "run_hooks",
    "run_in_path",
]
