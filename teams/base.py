"""The contracts of the engine: agents, teams, termination conditions, and what a run gives back.

Errors: `TeamError` when a run fails, raised from its cause; `TerminatedException` when a condition
is asked again after it fired. `InputRequired` suspends a run instead of failing it.
"""

from __future__ import annotations

from teams._contract.agent import ChatAgent, Handoff, Response
from teams._contract.team import DurableTeam, TaskResult, TaskRunner, Team, TeamError
from teams._contract.termination import (
    AndTerminationCondition,
    OrTerminationCondition,
    TerminatedException,
    TerminationCondition,
)
from teams._model_watch import ModelRequest, ModelWatch
from teams._run.hooks import (
    InputRequired,
    PendingInput,
    RunHooks,
    ToolCall,
    ToolInterceptor,
    current_tool_call,
    run_hooks,
)

__all__ = [
    "AndTerminationCondition",
    "ChatAgent",
    "DurableTeam",
    "Handoff",
    "InputRequired",
    "ModelRequest",
    "ModelWatch",
    "OrTerminationCondition",
    "PendingInput",
    "Response",
    "RunHooks",
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
]
