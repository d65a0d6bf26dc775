"""Contents of a workspace: people, channels, messages, sessions and files."""

from __future__ import annotations

import pytest

from adapters.slack.simulator.state import (
    NOTE_LIFE,
    PROCESSING_LIFE,
    Channel,
    File,
    Message,
    Session,
    Stream,
    User,
)


def message(ts: str, **more: object) -> Message:
    values: dict[str, object] = {"channel": "C1", "user": "U1", "team": "T1", "text": ts, **more}
    return Message(ts=ts, **values)  # type: ignore[arg-type]


def test_a_person_of_another_workspace_is_a_stranger() -> None:
    ann = User(id="U1", name="ann", team="T1", real_name="Ann")
    assert ann.json("T1")["profile"]["display_name"] == "ann"
    assert "is_stranger" not in ann.json("T1")
    assert ann.json("T2")["is_stranger"]


def test_a_file_lies_here_or_with_somebody_else() -> None:
    file = File(id="F1", name="a.txt", user="U1", team="T1", mimetype="text/plain", data=b"one")
    assert (file.json()["size"], file.json()["mode"], file.json()["filetype"]) == (
        3,
        "hosted",
        "txt",
    )


def test_a_stream_is_its_texts_and_blocks_in_order() -> None:
    task = {"type": "task_card", "title": "look"}
    stream = Stream(
        mode="chunks", started=0.0, pieces=["a", "b", {"type": "divider"}, {"task": "1"}]
    )
    stream.tasks["1"] = task
    assert stream.text == "ab"
    assert stream.sent_blocks() == [{"type": "divider"}]
    assert stream.blocks() == [{"type": "markdown", "text": "ab"}, {"type": "divider"}, task]


def test_a_channel_has_messages_that_everybody_sees_and_threads() -> None:
    channel = Channel(id="C1", name="general", team="T1", members={"U1", "UBOT"})
    for each in (
        message("1.0"),
        message("3.0", thread_ts="1.0"),
        message("2.0"),
        message("4.0", ephemeral="U1"),
    ):
        channel.messages[each.ts] = each
    assert [each.ts for each in channel.visible()] == ["1.0", "2.0", "3.0"]
    assert [each.ts for each in channel.thread("1.0")] == ["1.0", "3.0"]
    read = channel.read(channel.messages["1.0"])
    assert (read["reply_count"], read["latest_reply"]) == (1, "3.0")
    assert channel.read(channel.messages["3.0"])["parent_user_id"] == "U1"
    assert (channel.json("UBOT")["is_member"], channel.json("U2")["is_member"]) == (True, False)


def test_a_deleted_message_leaves_only_that_there_was_one() -> None:
    said = message("3.0", thread_ts="1.0", metadata={"a": 1})
    assert (said.root, message("1.0").root) == ("1.0", "1.0")
    assert said.json()["text"] == "3.0"
    assert said.json(metadata=True)["metadata"] == {"a": 1}
    said.entomb()
    assert (said.json()["subtype"], said.json()["text"]) == (
        "tombstone",
        "This message was deleted.",
    )


@pytest.mark.parametrize(
    ("now", "busy"), [(NOTE_LIFE - 1, True), (PROCESSING_LIFE - 1, True), (PROCESSING_LIFE, False)]
)
def test_a_session_looks_busy_for_a_while(now: float, busy: bool) -> None:
    session = Session(channel="C1", thread_ts="1.0", status="processing", note="thinks")
    assert session.looks_busy(now) is busy
