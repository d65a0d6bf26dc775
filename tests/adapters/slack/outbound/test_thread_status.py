"""An agent's session is made with its title, and renamed later."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.slack.outbound.surface import SlackSurface
from adapters.slack.testing import (
    HOME,
    AppSettings,
    ConnectionReset,
    ServerError,
    SlackSimulator,
    TooManyRequests,
)
from tests.adapters.slack.desk import Desk, advancing, at_desk, speech, surface_of

SET_STATUS, RENAME = "agents.sessions.setStatus", "agents.sessions.rename"


def title(desk: Desk) -> str:
    session = desk.slack.session("general", desk.asked)
    return session.title if session else ""


def calls(desk: Desk) -> list[tuple[str, str, str]]:
    """The calls about the session and its streams: method, title, error."""
    return [
        (each.method, str(each.arguments.get("title", "")), each.error)
        for each in desk.slack.calls()
        if each.method in (SET_STATUS, RENAME, "chat.startStream", "assistant.threads.setTitle")
    ]


@asynccontextmanager
async def maintained(desk: Desk, surface: SlackSurface | None = None) -> AsyncGenerator[None]:
    """The surface with its background work, while time passes."""
    async with (surface or desk.surface).maintained(), advancing(desk.slack, 1.0):
        yield


async def ticks(slack: SlackSimulator, seconds: float = 12) -> None:
    """Some rounds of the background work have passed."""
    until = slack.clock.time() + seconds
    await slack.until(lambda: slack.clock.time() > until)


async def test_the_first_status_makes_the_session_with_its_title(desk: Desk) -> None:
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.surface.busy(desk.place, "working")
        await desk.surface.post(desk.place, speech("Bells "))
        await ticks(desk.slack)
    assert calls(desk)[:2] == [(SET_STATUS, "About bells", ""), ("chat.startStream", "", "")]
    assert title(desk) == "About bells"
    assert not desk.slack.calls(RENAME)


async def test_a_stream_waits_for_the_session_that_it_would_make_without_a_title(
    desk: Desk,
) -> None:
    await desk.surface.rename(desk.place, "About bells")
    await desk.surface.post(desk.place, speech("Bells "))
    await desk.surface.busy(desk.place, "working")
    assert calls(desk) == [(SET_STATUS, "About bells", ""), ("chat.startStream", "", "")]
    assert title(desk) == "About bells"


@pytest.mark.parametrize("fault", [TooManyRequests(5), ConnectionReset(), ServerError(503)])
async def test_a_session_that_a_stream_has_made_is_renamed(desk: Desk, fault) -> None:
    desk.slack.fail(SET_STATUS, fault)
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.surface.post(desk.place, speech("Bells "))
        await desk.slack.until(lambda: title(desk) == "About bells")
    made = [call for call in calls(desk) if not call[2]]
    assert (RENAME, "About bells", "") in made
    assert not [call for call in calls(desk) if call[2] == "session_not_found"]


async def test_a_title_is_cut_to_what_slack_takes(desk: Desk) -> None:
    await desk.surface.rename(desk.place, "bell " * 100)
    await desk.surface.busy(desk.place, "working")
    assert 190 < len(title(desk)) <= 200


async def test_a_new_title_of_ours_replaces_the_old_one_once_slack_has_said_it_stands(
    desk: Desk,
) -> None:
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.surface.busy(desk.place, "working")
        await desk.surface.busy(desk.place, "idle")
        await desk.surface.rename(desk.place, "About whistles")
        await desk.surface.busy(desk.place, "working")
        await desk.slack.until(lambda: title(desk) == "About whistles")
    assert [call[0] for call in calls(desk)].count(RENAME) == 1


async def test_a_title_that_a_person_gave_stays(desk: Desk) -> None:
    alice = desk.slack.person("alice")
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.surface.busy(desk.place, "working")
        await alice.renames("general", desk.asked, "Mine")  # and the app hears nothing of it
        await desk.surface.busy(desk.place, "idle")
        await desk.surface.rename(desk.place, "About whistles")
        await desk.surface.busy(desk.place, "working")
        await ticks(desk.slack)
    assert title(desk) == "Mine"
    assert not desk.slack.calls(RENAME)


async def test_after_a_restart_the_title_that_is_there_stays(desk: Desk) -> None:
    await desk.surface.rename(desk.place, "About bells")
    await desk.surface.busy(desk.place, "working")
    again = desk.restarted()
    async with maintained(desk, again):
        await again.rename(desk.place, "About whistles")
        await again.busy(desk.place, "working")
        await ticks(desk.slack)
    assert title(desk) == "About bells"


async def test_a_title_that_a_person_gives_in_parley_replaces_any(desk: Desk) -> None:
    await desk.surface.rename(desk.place, "About bells")
    await desk.surface.busy(desk.place, "working")
    again = desk.restarted()
    async with maintained(desk, again):
        await again.rename(desk.place, "Plums", given=True)
        await desk.slack.until(lambda: title(desk) == "Plums")
        await again.rename(desk.place, "Pears", given=True)
        await desk.slack.until(lambda: title(desk) == "Pears")
    # A status that comes before its time would end what people see of the work.
    assert [call.arguments["status"] for call in desk.slack.calls(SET_STATUS)][-1] == "active"


async def test_a_title_given_in_slack_is_not_sent_back(desk: Desk) -> None:
    """Somebody may have given another one since."""
    alice = desk.slack.person("alice")
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.surface.busy(desk.place, "working")
        await alice.renames("general", desk.asked, "Mine")
        desk.surface.note_title(desk.place.key, "Mine")
        await alice.renames("general", desk.asked, "Mine, too")
        await desk.surface.rename(desk.place, "Mine", given=True)
        await ticks(desk.slack)
    assert title(desk) == "Mine, too"
    assert not desk.slack.calls(RENAME)


async def test_a_title_without_a_status_makes_the_session_at_rest(desk: Desk) -> None:
    async with maintained(desk):
        await desk.surface.rename(desk.place, "About bells")
        await desk.slack.until(lambda: title(desk) == "About bells")
        assert desk.slack.busy == []


async def test_an_app_without_sessions_gives_its_threads_titles(desk: Desk) -> None:
    await desk.slack.use_app(replace(desk.slack.world.app, agent=False))
    async with desk.surface.maintained():
        await desk.surface.busy(desk.place, "working")
        await desk.surface.rename(desk.place, "About <!here> bells")
        await desk.slack.until(lambda: title(desk) == "About \u2039!here> bells")
        await desk.surface.rename(desk.place, "Something else")
        await desk.slack.until(lambda: title(desk) == "Something else")
    assert not desk.slack.calls(RENAME)


async def test_a_refused_rate_does_not_lose_a_title(desk: Desk) -> None:
    await desk.surface.busy(desk.place, "working")
    desk.slack.fail(RENAME, TooManyRequests(5), times=2)
    async with maintained(desk):
        await desk.surface.rename(desk.place, "Plums", given=True)
        await desk.slack.until(lambda: title(desk) == "Plums")


async def test_somebody_outside_of_the_channel_may_have_asked(desk: Desk) -> None:
    stranger = replace(desk.place, asker=f"slack:{HOME}:U0NOBODY")
    await desk.surface.busy(stranger, "working")
    assert [session.status for session in desk.slack.busy] == ["processing"]
    assert not desk.slack.calls("assistant.threads.setStatus")


async def test_without_the_stop_event_log_and_operator_are_told(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    app = desk.slack.world.app
    await desk.slack.use_app(replace(app, events=app.events - {"agent_session_stopped"}))
    remarks: list[str] = []
    surface = SlackSurface(desk.clients, clock=desk.slack.clock, remark=remarks.append)
    with caplog.at_level(logging.WARNING, logger="adapters.slack"):
        await surface.busy(desk.place, "working")
        await surface.busy(desk.place, "idle")
    told = (
        "people in T0HOME see no Stop button: subscribe the app to the bot event "
        "agent_session_stopped (Event Subscriptions; `parley slack manifest` prints all events)"
    )
    assert caplog.messages == [told]
    assert remarks == [told] * 2


async def test_with_the_stop_event_nobody_is_told_anything(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    surface = surface_of(desk.slack, desk.clients)
    await surface.busy(desk.place, "working")
    assert caplog.messages == []


async def test_a_session_says_that_its_model_is_silent_and_no_longer_than_that(desk: Desk) -> None:
    seen: list[tuple[str, str]] = []
    for state in ("working", "silent", "working", "silent", "idle"):
        await desk.surface.busy(desk.place, state)
        session = desk.slack.session("general", desk.asked)
        assert session is not None
        seen.append((session.status, session.note))
    silent = ("processing", "is waiting for the model\u2026")
    assert seen == [("processing", ""), silent, ("processing", ""), silent, ("active", "")]


async def test_the_status_bears_the_agent_on_turn_and_nobody_afterwards(desk: Desk) -> None:
    def looks() -> dict[str, str]:
        session = desk.slack.session("general", desk.asked)
        return session.looks if session else {}

    await desk.surface.busy(replace(desk.place, agent="refunds"), "working")
    assert looks()["username"] == "refunds"
    await desk.surface.busy(replace(desk.place, agent="refunds"), "working")
    assert len(desk.slack.calls(SET_STATUS)) == 1
    await desk.surface.busy(replace(desk.place, agent="billing"), "working")
    assert len(desk.slack.calls(SET_STATUS)) == 1  # another agent's turn is not worth a call
    await desk.surface.busy(desk.place, "waiting")
    assert not any(looks().values())
    await desk.surface.busy(replace(desk.place, agent="billing"), "working")
    assert looks()["username"] == "billing"
    await desk.surface.busy(desk.place, "idle")
    assert not any(looks().values())
    assert [call.error for call in desk.slack.calls(SET_STATUS)] == [""] * 4


@pytest.mark.parametrize("scoped", [True, False])
async def test_a_status_line_is_the_agents_where_the_app_may_write_under_names(
    scoped: bool,
) -> None:
    scopes = AppSettings().scopes - (set() if scoped else {"chat:write.customize"})
    async with at_desk(AppSettings(agent=False, scopes=frozenset(scopes))) as desk:
        await desk.surface.busy(replace(desk.place, agent="refunds"), "working")
        session = desk.slack.session("general", desk.asked)
        assert session is not None
        assert (session.note, session.note_name) == ("is working…", "refunds" if scoped else "")
