"""Tables as people on Discord can read them."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.connection.message_body import length
from adapters.discord.outbound.surface import LIMITS
from adapters.discord.outbound.tables import WIDTH, render_tables
from adapters.discord.testing import DiscordSimulator
from gateway.render.split import split
from tests.adapters.discord.serving import bot_texts, serving, wait_delivered
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import solo

NARROW = """\
Here it is:

| Name | Since | Notes |
|:-----|------:|:-----:|
| Ann | 2019 | **lead**, `ops` |
| Bo | 7 | |

That is all."""


def test_a_narrow_table_is_aligned_in_code() -> None:
    assert render_tables(NARROW) == (
        "Here it is:\n"
        "\n"
        "```\n"
        "Name  Since    Notes\n"
        "----  -----  ---------\n"
        "Ann    2019  lead, ops\n"
        "Bo        7\n"
        "```\n"
        "\n"
        "That is all."
    )


def test_a_table_with_links_becomes_lines_in_which_they_work() -> None:
    table = "| what | where |\n|---|---|\n| docs | [a](https://a.example/) (a.example) |"
    assert render_tables(table) == (
        "- **what:** docs \u00b7 **where:** [a](https://a.example/) (a.example)"
    )


def test_wide_characters_and_marks_take_the_columns_that_they_are_shown_in() -> None:
    family = "👩\u200d👩\u200d👧"
    rows = "| 東京タワー | 1 |\n| e\u0301te\u0301 | 22 |\n| 👍🏽 ok | 3 |\n| 🇩🇪 | 4 |"
    table = f"| 名前 | x |\n|---|---|\n{rows}\n| {family} | 5 |"
    assert render_tables(table) == (
        "```\n"
        "名前        x\n"
        "----------  --\n"
        "東京タワー  1\n"
        "e\u0301te\u0301         22\n"
        "👍🏽 ok       3\n"
        "🇩🇪          4\n"
        f"{family}          5\n"
        "```"
    )


def test_a_wide_table_is_a_line_for_each_row() -> None:
    long = "what it does " * 5
    table = f"| Tool | **Use** | |\n|---|---|---|\n| `ls` | {long} | yes |\n| cd \\| pwd | | no |"
    assert render_tables(table) == (
        f"- **Tool:** `ls` \u00b7 **Use:** {long.strip()} \u00b7 yes\n"
        "- **Tool:** cd | pwd \u00b7 no"
    )


def test_a_table_is_aligned_up_to_the_width_and_no_further() -> None:
    for width, aligned in ((WIDTH, True), (WIDTH + 1, False)):
        table = f"| a | b |\n|---|---|\n| {'x' * (width - 3)} | y |"
        assert render_tables(table).startswith("```") is aligned


def test_wide_characters_count_for_what_fits() -> None:
    table = f"| a | b |\n|---|---|\n| {'東' * 29} | y |"
    assert render_tables(table).startswith("- **a:** 東")


@pytest.mark.parametrize(
    "text",
    [
        "no table | here",
        "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```",
        "| a | b |\n|---|\n| 1 | 2 |",
        "| a | b |\n",
        "> | a | b |\n> |---|---|",
    ],
)
def test_what_is_no_table_stays_as_it_is(text: str) -> None:
    assert render_tables(text) == text


def test_no_cell_ends_the_code() -> None:
    table = render_tables("| a | b |\n|---|---|\n| ``` | \\`\\`\\` |\n\nafter")
    assert table.count("```") == 2
    assert table.endswith("```\n\nafter")


def test_a_long_table_has_its_header_in_each_message() -> None:
    rows = "\n".join(f"| {n} | {'x' * 50} |" for n in range(60))
    text = render_tables(f"| n | what |\n|---|---|\n{rows}")
    pieces = split(text, limit=LIMITS.message, length=length, cuts=[], growing=False, most=9)
    assert len(pieces) > 2
    assert all(piece.text.startswith("```\nn   what") for piece in pieces)


def test_a_table_that_grows_is_one_as_soon_as_its_rule_is_whole() -> None:
    whole = "| a | b |\n|---|---|\n| 1 | 2 |"
    shown = [render_tables(whole[:end]) for end in range(len(whole) + 1)]
    begun = next(n for n, text in enumerate(shown) if text.startswith("```"))
    assert whole[:begun].count("\n") == 1
    assert all(
        text.startswith("```\na  b\n") and text.rstrip().endswith("\n```") for text in shown[begun:]
    )


async def test_a_table_that_grows_too_wide_becomes_lines_in_its_message(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, go_on = discord.person("alice"), asyncio.Event()
    wide = "and a long story " * 5
    model = ScriptedModel(["| a | b |\n|---|---|\n| 1 | 2 |\n", go_on, f"| 3 | {wide}|\n\nDone."])
    team = partial(solo, model, model_client_stream=True)
    async with serving(discord, tmp_path, team) as gateway:
        await alice.says(alice.direct, "a table, please")
        await discord.until(
            lambda: "```\na  b\n-  -\n1  2\n```" in "".join(bot_texts(discord, alice.direct))
        )
        go_on.set()
        await wait_delivered(gateway)
        await discord.until(lambda: bot_texts(discord, alice.direct)[0].endswith("Done."))
        await wait_delivered(gateway)
    assert bot_texts(discord, alice.direct) == [
        "-# 🐺 **solo**\n"
        f"- **a:** 1 \u00b7 **b:** 2\n- **a:** 3 \u00b7 **b:** {wide.strip()}\n\nDone."
    ]
