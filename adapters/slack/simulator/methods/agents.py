"""Methods of agents.sessions and assistant.threads: an agent's work in a thread.

Sources: https://docs.slack.dev/ai/agent-sessions, the methods' pages under
https://docs.slack.dev/reference/methods (agents.sessions.setStatus and agents.sessions.rename: Tier
3, 50 a minute), and https://docs.slack.dev/reference/events/agent_session_stopped for the warning.
Not documented, and assumed: assistant.threads.* makes no session that can be renamed.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.places import find_channel, thread_of
from adapters.slack.simulator.state import Channel, Json, Session, SessionStatus

STOPPED = "agent_session_stopped"
"""The event of the Stop button, which people have only while the app is subscribed to it."""
UNSTOPPABLE = "missing_agent_session_stopped_event_subscription"
STATUSES: tuple[str, ...] = get_args(SessionStatus)
LONGEST_TITLE = LONGEST_NAME = 200
MOST_LOADING = 10
MOST_PROMPTS = 4


@method("agents.sessions.setStatus", "chat:write", per_minute=50)
def set_session_status(call: Call) -> Json:
    """Set a session's status, making the session if there is none.

    The title and the initiator count for a new session alone.
    """
    status = call.need("status")
    if status not in STATUSES:
        raise ApiError("invalid_status")
    title = _title(call) if call.text("title") else ""
    channel, root = _agents_place(call)
    _check_initiator(call, channel)
    session = call.workspace.sessions.get((channel.id, root))
    if session is None or not session.made:
        session = make_session(call, channel.id, root, title)
    session.status = cast("SessionStatus", status)
    session.since = call.world.clock.time()
    session.note = ""
    _show_agent(call, session)
    answer: Json = {"status": status, "agent_status": status, "title": session.title}
    if STOPPED not in call.world.app.events:
        answer["warning"] = UNSTOPPABLE
        answer["response_metadata"] = {"warnings": [UNSTOPPABLE]}
    return answer


@method("agents.sessions.rename", "chat:write", per_minute=50)
def rename_session(call: Call) -> Json:
    """Give a session that there is another title."""
    title = _title(call)
    channel, root = _agents_place(call)
    session = call.workspace.sessions.get((channel.id, root))
    if session is None or not session.made:
        raise ApiError("session_not_found")
    session.title = title
    return {"title": title}


@method("assistant.threads.setStatus", "assistant:write", "chat:write", per_minute=600)
def set_note(call: Call) -> Json:
    """Show a status text while the agent works; "" removes it."""
    session = _thread_session(call)
    loading: Any = call.value("loading_messages") or []
    if not isinstance(loading, list) or len(cast("list[Any]", loading)) > MOST_LOADING:
        raise ApiError("invalid_arguments")
    session.note = call.text("status")
    session.note_name = call.text("username") if session.note else ""
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
    """A thread's session, which need not be made yet."""
    return call.workspace.sessions.setdefault(
        (channel, root), Session(channel=channel, thread_ts=root)
    )


def make_session(call: Call, channel: str, root: str, title: str = "") -> Session:
    """The session of a thread; the title is for a new one."""
    session = session_of(call, channel, root)
    if not session.made:
        session.made, session.title = True, title or session.title
    return session


def _agents_place(call: Call) -> tuple[Channel, str]:
    """The channel and thread of a session."""
    if not call.workspace.agents:
        raise ApiError("feature_disabled")
    if not call.world.app.agent:
        raise ApiError("not_authorized")
    channel = find_channel(call, "channel_id")
    if call.bot not in channel.members:
        raise ApiError("not_authorized")
    if not call.text("thread_ts"):
        raise ApiError("thread_ts_required")
    return channel, thread_of(call, channel)


def _show_agent(call: Call, session: Session) -> None:
    """Give a session its agent's name and picture, until they are cleared.

    Source: https://docs.slack.dev/reference/methods/agents.sessions.setStatus (its arguments
    username, icon_emoji and icon_url; which error tells of a missing scope is assumed).
    """
    for name in ("username", "icon_emoji", "icon_url"):
        if name not in call.arguments:
            continue
        if "chat:write.customize" not in call.grant.scopes:
            raise ApiError("missing_scope", needed="chat:write.customize")
        if len(call.text(name)) > LONGEST_NAME and name == "username":
            raise ApiError("invalid_arguments")
        session.looks[name] = call.text(name)


def _check_initiator(call: Call, channel: Channel) -> None:
    """Refuse an initiator who is no member of the channel."""
    user = call.text("initiator_user_id")
    if user and user not in channel.members:
        raise ApiError("user_not_found")


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
