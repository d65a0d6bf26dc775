"""Fields of Slack's payloads, and texts in them."""

import pytest

from adapters.slack.connection import payload
from adapters.slack.connection.payload import as_command, escaped, gateway_text, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<@UBOT> hi <@U2>", "hi @Bob"),
        ("<@UBOT>, <@UBOT|parley>: hi <@UBOT>", "hi"),
        ("hi <@UBOT> there", "hi @UBOT there"),
        ("<@U9|eve> <#C1|general> <#C2>", "@eve #general #C2"),
        ("<!here> <!subteam^S1|@ops> <!subteam^S2>", "@here @ops @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        (
            "<https://a.b|a page> <https://a.b> <mailto:a@b.c|a@b.c>",
            "a page (https://a.b) https://a.b a@b.c",
        ),
        ("1 &lt; 2 &amp;&amp; &amp;lt;", "1 < 2 && &lt;"),
        ("<@UBOT>", ""),
    ],
)
def test_text_is_what_people_see(text: str, shown: str) -> None:
    assert plain(text, {"U2": "Bob"}, me="UBOT") == shown


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("!stop", "/stop"),
        ("!STOP now", "/STOP now"),
        ("!important", "!important"),
        ("!stopping", "!stopping"),
        ("stop!", "stop!"),
    ],
)
def test_only_a_command_that_there_is_is_one(text: str, command: str) -> None:
    assert as_command(text, {"stop"}) == command


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Start a new one with /new.", "Start a new one with !new."),
        ("/new starts another one", "!new starts another one"),
        ("`/queue drop 2` or /new-fangled", "`!queue drop 2` or /new-fangled"),
        ("the file /new/notes and a/new thing", "the file /new/notes and a/new thing"),
        ("https://a.example/new", "https://a.example/new"),
        ("/newer", "/newer"),
    ],
)
def test_commands_in_texts_of_the_gateways_own_are_those_that_people_type(text: str, shown: str):
    assert gateway_text({"new", "queue"})(text) == shown
    assert gateway_text(())("/new starts another one") == "/new starts another one"


def test_escaped_text_mentions_nobody() -> None:
    assert escaped("<!channel> & <@U1>") == "&lt;!channel&gt; &amp; &lt;@U1&gt;"


MESSAGE = {
    "team_id": "T0",
    "enterprise": {"id": "E1"},
    "authorizations": [{"team_id": "T1", "enterprise_id": "E2", "user_id": "UBOT", "is_bot": True}],
    "event": {"text": "hi", "n": 5, "ts": "1.2", "files": [{"id": "F1"}, "x"], "ids": ["a", 1]},
}


def test_a_field_is_what_it_should_be_or_empty() -> None:
    assert payload.text_at(MESSAGE, "event", "text") == "hi"
    assert payload.text_at(MESSAGE, "event", "n") == ""
    assert payload.number_at(MESSAGE, "event", "n") == 5
    assert payload.number_at(MESSAGE, "event", "text") == 0
    assert payload.table_at(MESSAGE, "enterprise") == {"id": "E1"}
    assert payload.table_at(MESSAGE, "team_id") == {}
    assert payload.tables_at(MESSAGE, "event", "files") == [{"id": "F1"}]
    assert payload.texts_at(MESSAGE, "event", "ids") == ("a",)
    assert payload.ts_at(MESSAGE, "event", "ts") == "1.2"
    assert payload.ts_at(MESSAGE, "event", "text") == ""


def test_an_event_says_where_it_arrived() -> None:
    assert payload.team_of(MESSAGE) == "T1"
    assert payload.team_of({"team_id": "T0"}) == "T0"
    assert payload.enterprise_of(MESSAGE) == "E2"
    assert payload.enterprise_of({"enterprise": {"id": "E1"}}) == "E1"
    assert payload.bot_user_of(MESSAGE) == "UBOT"
    assert payload.bot_user_of({}) == ""


def test_ids_are_made_and_read() -> None:
    assert payload.author_id("T1", "U1") == "slack:T1:U1"
    assert payload.slack_ids("slack:T1:U1") == ("T1", "U1")
    assert payload.slack_ids("discord:1:2") is None
    assert [payload.is_direct(each) for each in ("D1", "C1")] == [True, False]


def test_mentions_are_found() -> None:
    text = "<@U1> and <@U2|Bob> in <#C1>, <@U1>"
    assert payload.mentioned(text) == ["U1", "U2"]
    assert payload.unnamed(text) == ["U1", "U2", "C1"]
    assert payload.mentions_others(text, "U1")
    assert not payload.mentions_others(text, "U1", "U2")
    assert payload.mentions_others("<!subteam^S1>")
    assert payload.opens_with_mention("<@UBOT> <@U1> hi", me="UBOT")
    assert not payload.opens_with_mention("<@UBOT> hi", me="UBOT")


def test_escapes_are_taken_back() -> None:
    assert payload.unescaped("a &lt;b&gt; &amp;amp;") == "a <b> &amp;"


@pytest.mark.parametrize(
    ("text", "alone", "asks"),
    [("Help!", False, True), ("", True, True), ("", False, False), ("help me", True, False)],
)
def test_help_is_asked_for_in_a_word_or_none(text: str, alone: bool, asks: bool) -> None:
    assert payload.asks_for_help(text, alone=alone) is asks
