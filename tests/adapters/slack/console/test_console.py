"""Somebody at a terminal is the people of the simulated workspace."""

from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.console.console import Console
from adapters.slack.testing import SlackSimulator


class Terminal:
    def __init__(self, slack: SlackSimulator) -> None:
        self.written: list[str] = []
        self.console = Console(slack, self.written.append)

    async def types(self, *lines: str) -> list[str]:
        """Lines that appear after this input."""
        self.written.clear()
        for line in lines:
            await self.console.run_line(line)
        return self.written

    def sees(self) -> list[str]:
        """Lines that appear after the app's actions."""
        self.written.clear()
        self.console.screen.refresh()
        return self.written


@pytest.fixture
def terminal(slack: SlackSimulator) -> Terminal:
    return Terminal(slack)


async def test_two_people_talk_in_a_thread(terminal: Terminal) -> None:
    assert await terminal.types("hello @bob") == ["#general [1] alice", "      hello @bob"]
    assert terminal.console.prompt == "alice #general> "
    written = await terminal.types("/as bob", "/thread 1", "hello @alice")
    assert written == ["#general [2] in 1 bob", "      hello @alice"]
    assert terminal.console.prompt == "bob #general in 1> "
    assert await terminal.types("/edit 1 no") == ["  (message 1 is not bob's)"]
    assert (await terminal.types("/edit 2 bye"))[1:] == ["      bye"]
    assert await terminal.types("/delete 2") == ["  [2] was deleted"]
    assert await terminal.types("/in dm", "hi") == ["direct [3] bob", "      hi"]


async def test_the_app_is_mentioned_in_any_case_and_given_a_message_by_its_menu(
    terminal: Terminal, slack: SlackSimulator
) -> None:
    await terminal.types("@Parley hello")
    assert slack.messages("general")[0].text == f"<@{slack.world.bot('T0HOME').id}> hello"
    await terminal.types("/menu 1 Ask the team")
    given = next(each for each in slack.deliveries if each.payload.get("type") == "message_action")
    assert given.payload["callback_id"] == "ask_team"
    wrong = await terminal.types("/menu 1 Ask")
    assert wrong == ["  (there is no 'Ask'; there are Ask the team, Fork from here)"]


async def test_a_stream_is_written_by_whole_lines_as_it_grows(
    terminal: Terminal, slack: SlackSimulator, client: AsyncWebClient
) -> None:
    await terminal.types("@parley a poem")
    asked = terminal.console.screen.message("1")
    stream: Any = await client.chat_startStream(
        channel="C0GENERAL",
        thread_ts=asked.ts,
        recipient_team_id="T0HOME",
        recipient_user_id=asked.user,
        markdown_text="Roses",
    )
    assert "  (the app is working in 1)" in terminal.sees()
    where: Any = {"channel": "C0GENERAL", "ts": stream["ts"]}
    await client.chat_appendStream(markdown_text=" are red\nViolets", **where)
    assert terminal.sees() == ["#general [2] in 1 parley", "      Roses are red"]
    await client.chat_stopStream(markdown_text=" are blue", **where)
    assert terminal.sees() == ["      Violets are blue", "  (the app has stopped working in 1)"]


async def test_a_card_is_clicked_and_a_modal_is_filled_in(
    terminal: Terminal, slack: SlackSimulator, client: AsyncWebClient
) -> None:
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go on"}}
    card = {"type": "section", "text": {"type": "mrkdwn", "text": "Shall I?"}}
    await client.chat_postMessage(
        channel="C0GENERAL", text="?", blocks=[card, {"type": "actions", "elements": [button]}]
    )
    assert terminal.sees() == ["#general [1] parley", "      Shall I?", "      <Go on>"]
    assert await terminal.types("/click 1 Stop") == ["  (there is no 'Stop'; there are Go on, a)"]
    await terminal.types("/click 1 Go on")
    await client.views_open(
        trigger_id=slack.deliveries[-1].payload["trigger_id"],
        view={
            "type": "modal",
            "title": {"type": "plain_text", "text": "Why?"},
            "submit": {"type": "plain_text", "text": "Send"},
            "blocks": [
                {
                    "type": "input",
                    "label": {"type": "plain_text", "text": "Reason"},
                    "element": {"type": "plain_text_input", "action_id": "why"},
                }
            ],
        },
    )
    assert terminal.sees() == ["--- Why? ---", "    Reason = ...", "    /submit Send, or /close"]
    await terminal.types("/fill Reason = because", "/submit")
    state = slack.deliveries[-1].payload["view"]["state"]["values"]
    assert [each["why"]["value"] for each in state.values()] == ["because"]
    assert await terminal.types("/close") == ["  (the modal is closed)"]


async def test_files_reactions_commands_and_stop_reach_the_app(
    terminal: Terminal, slack: SlackSimulator, client: AsyncWebClient, tmp_path: Path
) -> None:
    (tmp_path / "a plan.txt").write_text("1, 2, 3")
    assert await terminal.types(f"/upload '{tmp_path}/a plan.txt'") == [
        "#general [1] alice",
        "      [file] a plan.txt",
    ]
    assert (await terminal.types("/react 1 eyes"))[-1] == "      :eyes:"
    await terminal.types("//parley help me")
    assert slack.deliveries[-1].payload["text"] == "help me"
    await client.agents_sessions_setStatus(
        channel_id="C0GENERAL",
        status="processing",
        thread_ts=terminal.console.screen.message("1").ts,
    )
    assert await terminal.types("/stop") == [
        "  (open a thread first: /thread N)",
        "  (the app is working in 1)",
    ]
    await terminal.types("/thread 1", "/stop")
    assert slack.deliveries[-1].event["type"] == "agent_session_stopped"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/nonsense", "there is no such command"),
        ("/thread 7", "there is no message '7'"),
        ("/in nowhere", "there is no channel 'nowhere'"),
        ("/as <b>", "a name may contain only"),
        ("/upload /no/such/file", "No such file"),
        ("/fill x", "/fill FIELD = TEXT"),
        ("/submit", "alice has no modal open"),
        ("//unknown", "the app has no command '/unknown'"),
    ],
)
async def test_what_does_not_work_is_said(terminal: Terminal, line: str, said: str) -> None:
    (written,) = await terminal.types(line)
    assert said in written


async def test_what_the_app_writes_does_not_steer_the_terminal(
    terminal: Terminal, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel="C0GENERAL", text="\x1b[2Jgone <@U0ALICE>")
    assert terminal.sees()[1] == "      gone @alice"


async def test_quit_ends_it(terminal: Terminal) -> None:
    async def lines():
        yield "/help\n"
        yield "/quit\n"
        yield "never\n"

    await terminal.console.run(lines())
    assert len(terminal.written) == 1
    assert "/thread N" in terminal.written[0]
