"""Texts of Discord's messages."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.connection.message_body import Message, neutral, unmask_links


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<@123> <@!123> <@&123> <#123>", "\u2039@123> \u2039@!123> \u2039@&123> \u2039#123>"),
        ("</ask:123> <a:hi:123> <:hi:1>", "\u2039/ask:123> \u2039a:hi:123> \u2039:hi:1>"),
        ("<t:1618953630:R> <id:browse>", "\u2039t:1618953630:R> \u2039id:browse>"),
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
