"""Methods of agents.sessions and assistant.threads: an agent's work in a thread."""

from __future__ import annotations

from typing import Any, cast, get_args

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.places import find_channel, thread_of
from adapters.slack.simulator.state import Json, Session, SessionStatus

STATUSES: tuple[str, ...] = get_args(SessionStatus)
LONGEST_TITLE = 200
MOST_LOADING = 10
MOST_PROMPTS = 4


@method("agents.sessions.setStatus", "chat:write")
def set_session_status(call: Call) -> Json:
    """Set a session's status, making the session if there is none."""
    status = call.need("status")
    if status not in STATUSES:
        raise ApiError("invalid_status")
    session = _agents_session(call)
    if call.text("title") and not session.title:
        session.title = _title(call)
    session.status = cast("SessionStatus", status)
    session.since = call.world.clock.time()
    session.note = ""
    answer: Json = {"status": session.status, "title": session.title}
    if "agent_session_stopped" not in call.world.app.events:
        answer["warning"] = "missing_agent_session_stopped_event_subscription"
    return answer


@method("agents.sessions.rename", "chat:write")
def rename_session(call: Call) -> Json:
    """Give a session another title."""
    title = _title(call)
    _agents_session(call).title = title
    return {}


@method("assistant.threads.setStatus", "assistant:write", "chat:write", per_minute=600)
def set_note(call: Call) -> Json:
    """Show a status text while the agent works; "" removes it."""
    session = _thread_session(call)
    loading: Any = call.value("loading_messages") or []
    if not isinstance(loading, list) or len(cast("list[Any]", loading)) > MOST_LOADING:
        raise ApiError("invalid_arguments")
    session.note = call.text("status")
    session.loading = [str(each) for each in cast("list[Any]", loading)]
    session.note_since = call.world.clock.time()
    if not session.note and session.status == "processing":
        session.status = "active"
    return {}


@method("assistant.threads.setTitle", "assistant:write", "chat:write")
def set_title(call: Call) -> Json:
    """Give a thread a title."""
    _thread_session(call).title = _title(call)
    return {}


@method("assistant.threads.setSuggestedPrompts", "assistant:write", "chat:write")
def set_prompts(call: Call) -> Json:
    """Offer a person what they could ask."""
    prompts = call.items("prompts", "invalid_arguments")
    if not 0 < len(prompts) <= MOST_PROMPTS:
        raise ApiError("invalid_arguments")
    if not all({"title", "message"} <= prompt.keys() for prompt in prompts):
        raise ApiError("invalid_arguments")
    channel = find_channel(call, "channel_id")
    root = thread_of(call, channel)
    session_of(call, channel.id, root).prompts = prompts
    return {}


def session_of(call: Call, channel: str, root: str) -> Session:
    """The session of a thread, made if there is none."""
    return call.workspace.sessions.setdefault(
        (channel, root), Session(channel=channel, thread_ts=root)
    )


def _agents_session(call: Call) -> Session:
    if not call.workspace.agents:
        raise ApiError("feature_disabled")
    if not call.world.app.agent:
        raise ApiError("not_authorized")
    channel = find_channel(call, "channel_id")
    if call.bot not in channel.members:
        raise ApiError("not_authorized")
    if not call.text("thread_ts"):
        raise ApiError("thread_ts_required")
    return session_of(call, channel.id, thread_of(call, channel))


def _thread_session(call: Call) -> Session:
    channel = find_channel(call, "channel_id")
    if call.bot not in channel.members:
        raise ApiError("channel_not_found")
    call.need("thread_ts")
    return session_of(call, channel.id, thread_of(call, channel))


def _title(call: Call) -> str:
    title = call.need("title")
    if len(title) > LONGEST_TITLE:
        raise ApiError("invalid_arguments")
    return title
