"""Places of threads in words."""

import pytest

from adapters.terminal.place import (
    head_label,
    list_place,
    message_label,
    message_title,
    place_name,
    waits,
)
from gateway.client import ThreadInfo


def thread(**facts: object) -> ThreadInfo:
    given = {"id": "t", "title": "", "team": "demo", "state": "idle", "updated_at": 0.0} | facts
    return ThreadInfo(**given)  # pyright: ignore[reportArgumentType]


OWN = thread(platform="local")
SLACK = thread(platform="slack", channel="C0\x1b[2J123")


@pytest.mark.parametrize("own", [None, OWN])
def test_a_thread_of_the_terminal_has_no_other_readers(own):
    assert message_label(own, "Ann") == "Message the team as Ann"
    assert (head_label(own), message_title(own, "Ann")) == ("", "")


def test_a_thread_of_a_platform_says_where_it_is_and_who_reads_it():
    assert (place_name(OWN), place_name(SLACK)) == ("terminal", "Slack C0123")
    assert head_label(SLACK) == "Slack C0123 (everyone there)"
    assert message_label(SLACK, "Ann\nBob") == "Message C0123 as Ann Bob"
    assert message_title(SLACK, "Ann") == "to everyone in C0123 on Slack, as Ann"


def test_a_channel_is_called_by_its_name_with_its_members_where_they_are_known():
    named = thread(platform="slack", channel="C1", place="#general", members=12)
    assert head_label(named) == "Slack #general (12 members)"
    assert message_label(named, "Ann") == "Message #general as Ann"
    assert message_title(named, "Ann") == "to the 12 members of #general on Slack, as Ann"


def test_a_direct_message_reaches_one_person():
    direct = thread(platform="discord", channel="77", direct=True)
    assert head_label(direct) == "Discord direct message (one person)"
    assert message_label(direct, "Ann") == "Message one person as Ann"
    assert message_title(direct, "Ann") == "to one person on Discord, as Ann"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, []),
        ({"asks": "coder"}, ["coder waits for you"]),
        ({"asks": "coder", "asked": "Ann", "queued": 2}, ["coder waits for Ann", "2 queued"]),
    ],
)
def test_a_list_says_who_waits_for_whom(facts, said):
    assert waits(thread(**facts)) == said


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ("/home/ann/a\x1b[2J/config.toml", "of /home/ann/a"),
        ("built-in", "of the built-in config"),
        ("", "of an unknown config"),
    ],
)
def test_a_thread_of_another_config_is_listed_with_its_folder(config: str, shown: str):
    assert list_place(thread(platform="local", config=config, foreign=True)) == [shown]
    assert list_place(thread(platform="local", config=config)) == []
    assert list_place(SLACK) == ["Slack C0123"]
