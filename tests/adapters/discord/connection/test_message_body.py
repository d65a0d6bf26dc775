"""Texts of Discord's messages."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.connection.message_body import (
    Message,
    neutral,
    unmask_links,
    without_small_print,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<@123> <@!123> <@&123> <#123>", "\u2039@123> \u2039@!123> \u2039@&123> \u2039#123>"),
        ("</ask:123> <id:browse> <sound:1>", "\u2039/ask:123> \u2039id:browse> \u2039sound:1>"),
        ("<:hi:123> <a:wave_2:123>", "<:hi:123> <a:wave_2:123>"),
        ("**<t:1618953630:R>** <t:-1:s>", "**<t:1618953630:R>** <t:-1:s>"),
        ("@everyone <@123>", "\uff20everyone \u2039@123>"),
        ("`<@123>` `@everyone` `<t:1>`", "`<@123>` `@everyone` `<t:1>`"),
        ("<div>a</div> 5 < 6 <T>", "<div>a</div> 5 < 6 <T>"),
        ("```jsx\n<a:b>@here</a:b>\n```", "```jsx\n<a:b>@here</a:b>\n```"),
        ("#### Deep\n---", f"**Deep**\n{'─' * 12}"),
        (">>> all of it", "> │ │ all of it"),
        ("-# ✓ deploy", "\\-# ✓ deploy"),
        ("> - -# ✓ deploy", "> - \\-# ✓ deploy"),
    ],
)  # fmt: skip
def test_only_what_discord_acts_on_is_changed(text: str, shown: str) -> None:
    assert neutral(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[docs](https://a.com/x) (a.com)", "[docs](https://a.com/x) (a.com)"),
        ("[docs](https://evil.com/x) (a.com)", "[docs]\uff08https://evil.com/x) (a.com)"),
        ("[docs](https://a.com@evil.com) (a.com)", "[docs]\uff08https://a.com@evil.com) (a.com)"),
        ("[docs](https://evil.com/x)", "[docs]\uff08https://evil.com/x)"),
        ("`m[0](x)`", "`m[0](x)`"),
        ("[a] ```\nm[0](x)\n```", "[a] ```\nm[0](x)\n```"),
        ("``a`[x](https://evil.com)`", "``a`[x]\uff08https://evil.com)`"),
        ("a `b\n\n`[x](https://evil.com)`", "a `b\n\n`[x]\uff08https://evil.com)`"),
        (
            "```\n```\n```\n[x](https://evil.com)\n```",
            "```\n```\n```\n[x]\uff08https://evil.com)\n```",
        ),
        (
            "abc ``` d\n\n```\n[x](https://evil.com)\n```",
            "abc ``` d\n\n```\n[x]\uff08https://evil.com)\n```",
        ),
        ("[a `b](https://evil.com) c`", "[a `b]\uff08https://evil.com) c`"),
    ],
)
def test_a_message_has_no_link_without_its_host(text: str, shown: str) -> None:
    assert Message(content=text).content == shown


PIECES = st.lists(
    st.sampled_from(
        ["`", "```", "~~~", "\n", "-# x", "> ", "- ", " ", "\\", "a", "    ", "1. ", "*"]
    )
).map("".join)


@given(PIECES)
def test_no_text_of_an_agent_is_small_print(text: str) -> None:
    shown = re.sub(r"```.*?(?:```|\Z)", "`", neutral(text), flags=re.DOTALL)  # as Discord reads it
    outside = re.sub(r"`[^`]+`", "`", shown)
    assert not re.search(r"^(?:> )?(?:[-*] )*-# \S", outside, re.MULTILINE)


@given(PIECES)
def test_unmasking_twice_is_unmasking_once(text: str) -> None:
    assert unmask_links(unmask_links(text)) == unmask_links(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-# done", "\u2011# done"),
        ("> -# done", "> \u2011# done"),
        ("- -# done", "- \u2011# done"),
        ("```\n-# code\n```\n\\-# text", "```\n-# code\n```\n\\-# text"),
        ("abc ``` d\n\n```\n-# done\n```", "abc ``` d\n\n```\n\u2011# done\n```"),
        (
            "- ```\n  a\nout\n\n```\n-# done\n```",
            "- ```\n  a\nout\n\n```\n\u2011# done\n```",
        ),
    ],
)
def test_what_discord_does_not_read_as_code_is_no_small_print(text: str, shown: str) -> None:
    assert without_small_print(neutral(text) if "```" in text else text) == shown
