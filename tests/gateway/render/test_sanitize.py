"""Foreign text on terminals, approval cards and chat platforms."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.render.sanitize import AT, label, markdown, mrkdwn, sanitize, visible

PINGS = re.compile(r"@(?:everyone|here|channel)|<[@#!]", re.IGNORECASE)
TRICKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain text, 100 %", "plain text, 100 %", id="plain"),
        pytest.param("a\n\tb", "a\n\tb", id="newline-and-tab"),
        pytest.param("10%\r20%\r\ndone", "10%\n20%\ndone", id="carriage-returns"),
        pytest.param("a\u2028b\u2029c\x0bd\x0ce\x85f", "a\nb\nc\nd\ne\nf", id="line-ends"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x9b2Jgone", "gone", id="8-bit-csi"),
        pytest.param("\x1b[?1049h\x1b[>4;1mhi", "hi", id="private-csi"),
        pytest.param("\x1b]0;title\x07hi", "hi", id="window-title"),
        pytest.param("\x1b]8;;http://bad\x1b\\link\x1b]8;;\x1b\\", "link", id="hyperlink"),
        pytest.param("\x9d52;c;cGFzdGU=\x9chi", "hi", id="8-bit-clipboard"),
        pytest.param("\x1bP+q544e\x1b\\hi", "hi", id="device-control"),
        pytest.param("\x1b_Gpayload\x1b\\hi", "hi", id="application-command"),
        pytest.param(
            "\x1b^private\x1b\\hi\x1bXstart\x1b\\", "hi", id="privacy-and-start-of-string"
        ),
        pytest.param("\x1b(0lqk\x1b(B\x1bc\x1b7\x1b=", "lqk", id="charset-reset-and-keypad"),
        pytest.param("\x1b]0;never ends", "0;never ends", id="unfinished-string-swallows-nothing"),
        pytest.param("\x1b\x1b[31m[31mx\x1b", "[31mx", id="nested-escapes"),
        pytest.param("a\x00b\x07c\x08d\x7fe\x84f", "abcdef", id="other-controls"),
        pytest.param("file\u202egpj.exe", "filegpj.exe", id="right-to-left-override"),
        pytest.param("\u2066a\u2069\u200eb\u200f\u061c", "ab", id="isolates-and-marks"),
        pytest.param("pass\u200bword\u2060\ufeff\u00ad", "password", id="no-width"),
        pytest.param("hi\U000e0041\U000e0042\U000e0101", "hi", id="tags-and-smuggled-bytes"),
        pytest.param("a\u200db\u200cc", "abc", id="joiner-between-ascii"),
        pytest.param(
            "👩\u200d👩\u200d👧 نمی\u200cشود", "👩\u200d👩\u200d👧 نمی\u200cشود", id="joiner"
        ),
        pytest.param("é\u200d\u200d\u200dé", "é\u200dé", id="one-joiner-of-a-run"),
        pytest.param("half \ud83d pair", "half \ufffd pair", id="lone-surrogate"),
        pytest.param("שלום 日本語 ❤️", "שלום 日本語 ❤️", id="other-scripts"),
    ],
)
def test_foreign_text_is_shown_without_what_steers_or_hides(text: str, shown: str):
    assert sanitize(text) == shown


@given(st.text() | st.text(alphabet="\x1b[]P_\\\x07\x9b\x9c\x9d;0m\n\ra\u200d\u202eé"))
@example("\x1b" + "\x1b[m" * 3 + "[0m")
def test_no_control_is_left_and_a_second_pass_changes_nothing(text: str):
    shown = sanitize(text)
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in shown if char not in "\n\t")
    assert sanitize(shown) == shown
    shown.encode()


@given(st.lists(st.text(alphabet="\x1b[]\x07\x9b0;mab\n"), max_size=6))
def test_pieces_sanitised_one_by_one_never_form_a_sequence(pieces: list[str]):
    joined = "".join(map(sanitize, pieces))
    assert sanitize(joined) == joined


def test_a_long_hostile_text_takes_linear_time():
    assert sanitize("\x1b]\x9d" * 200_000) == ""
    assert sanitize("é" + "\u200d" * 400_000 + "é") == "é\u200dé"
    assert sanitize("é\u200d" * 200_000) == "é\u200d" * 200_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"path": "notes.txt"}', '{"path": "notes.txt"}'),
        ("a\n\tb", "a\n\tb"),
        ("rm\x1b[8m -rf", "rm⟨U+001B⟩[8m -rf"),
        ("file\u202egpj.exe", "file⟨U+202E⟩gpj.exe"),
        ("a\u200bb\u00a0c\u3164d", "a⟨U+200B⟩b⟨U+00A0⟩c⟨U+3164⟩d"),
        ("x\U000e0101\U000e0041", "x⟨U+E0101⟩⟨U+E0041⟩"),
        ("zażółć 日本 ❤", "zażółć 日本 ❤"),
    ],
)
def test_a_card_shows_what_can_not_be_seen(text: str, shown: str):
    assert visible(text) == shown


@pytest.mark.parametrize("write", [markdown, mrkdwn])
@pytest.mark.parametrize(
    "text",
    [
        "@everyone",
        "`@here`",
        "```\n@channel\n```",
        "<@U123>",
        "<!channel>",
        "<!subteam^S1|all>",
        "<@&42>",
        "<#C1|general>",
        "@\u200beveryone",
        "<\u202e@U1>",
        "@EVERYONE",
        "a@everyonehttps://e.example",
        "`<@U1>`",
    ],
)
def test_nobody_is_mentioned(write, text):
    shown = write(text)
    assert not PINGS.search(shown)
    assert not TRICKS.search(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[my bank](https://evil.example/x)", "my bank (https://evil.example/x)"),
        ("<https://evil.example|my bank>", "my bank (https://evil.example)"),
        ("![chart](https://evil.example/?q=secret)", "chart (https://evil.example/?q=secret)"),
        ("![](https://evil.example/a)", "(https://evil.example/a)"),
        ('[a](https://evil.example "https://good.example")', "a (https://evil.example)"),
        (
            "[[a](https://x.example)](https://y.example)",
            "a (https://x.example) (https://y.example)",
        ),
        (
            "[https://good.example](https://evil.example)",
            "https://good.example (https://evil.example)",
        ),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("[a]: https://evil.example", "\\[a]: https://evil.example"),
        ("[a](javascript:alert(1))", "a (javascript:alert(1) )"),
        ("a list [x] (and y)", "a list [x] (and y)"),
        ("mail me at a@example.com", "mail me at a@example.com"),
    ],
)
def test_an_address_stands_beside_its_words(text, shown):
    assert markdown(text) == shown
    assert mrkdwn(text) == shown.replace("&", "&amp;")


def test_while_an_answer_grows_only_known_hosts_are_links():
    text = "See https://docs.example/a, https://evil.example/?d=1. and www.evil.example!"
    assert markdown(text, hosts=["docs.example"]) == (
        "See https://docs.example/a, `https://evil.example/?d=1`. and `www.evil.example`!"
    )
    tricks = "https://docs.example@evil.example https://docs.example.evil.example"
    assert "`" in markdown(tricks, hosts=["docs.example"]).split()[0]
    assert "`" in markdown(tricks, hosts=["docs.example"]).split()[1]
    assert markdown("[a](https://evil.example)", hosts=[]) == "a (`https://evil.example`)"


def test_code_stays_as_it_is():
    code = "Look:\n```python\nx = [a](https://b.example)\nif a < b & c: pass\n```\nand `[c](d)`."
    assert markdown(code) == code
    assert mrkdwn(code) == code.replace("&", "&amp;").replace("<", "&lt;")


def test_a_fence_that_is_not_closed_yet_is_code_and_one_that_is_none_is_not():
    assert markdown("```\n[a](https://b.example)") == "```\n[a](https://b.example)"
    assert markdown("``` not ` code\n[a](https://b.example)").endswith("a (https://b.example)")


def test_a_label_is_one_short_line_without_marks():
    assert label("Hello\n<@U1> @here  world", 40) == f"Hello \u2039@U1> {AT}here world"
    assert label("x" * 50, 10) == "x" * 9 + "\u2026"


MARKS = st.lists(
    st.sampled_from(
        [
            *(
                "[",
                "]",
                "(",
                ")",
                "<",
                ">",
                "|",
                "`",
                "~",
                "@",
                "!",
                "#",
                "&",
                "\n",
                "\\",
                " ",
                '"',
            ),
            *("```", "@everyone", "<@U1>", "<!here>", "https://e.example/a", "www.e.example"),
            *("[a](https://e.example)", "\u200b", "\u202e", "\x1b[31m", "word"),
        ]
    )
).map("".join)


@given(MARKS)
@example("[[a](b)](c)")
def test_however_the_marks_are_put_together_nothing_comes_through(text):
    for shown in (markdown(text), mrkdwn(text)):
        assert not PINGS.search(shown)
        assert not TRICKS.search(shown)
    assert not re.search(r"<(?!$)[^&]", mrkdwn(text))
    assert "\x1b" not in sanitize(text)
    assert len(label(text, 20)) <= 20


def test_masks_in_masks_take_no_long_time():
    text = markdown("[" * 20_000 + "a" + "](https://e.example)" * 20_000)
    assert "](" not in text


@given(MARKS)
def test_every_prefix_of_a_growing_text_is_safe(text):
    for end in range(0, len(text), 7):
        assert not PINGS.search(markdown(text[:end], hosts=[]))


# --- which host a link opens ---

GOOD = ["good.com", "bücher.de"]


@pytest.mark.parametrize(
    ("address", "live"),
    [
        ("https://good.com/a?b=c#d", True),
        ("https://GOOD.com:443/a", True),
        ("www.good.com", False),
        ("https://bücher.de/a", True),
        ("https://xn--bcher-kva.de/a", True),
        ("https://evil.com\\@good.com", False),
        ("https:///evil.com/@good.com", False),
        ("https://good.com@evil.com", False),
        ("https://good.com:80@evil.com", False),
        ("https://good.com%40evil.com", False),
        ("https://good.com\uff0fevil.com@evil.com", False),
        ("https://evil.com\uff0f@good.com", True),  # an odd user, but browsers open good.com
        ("https://good.com.evil.com", False),
        ("https://evil.com#@good.com", False),
        ("https://evil.com?@good.com", False),
        ("https://evil.com;@good.com", True),
        ("https://g\u043e\u043ed.com", False),  # Cyrillic letters
        ("https://good.com:99999", False),
    ],
)
def test_a_host_is_the_one_that_browsers_open(address: str, live: bool):
    shown = markdown(f"see {address} now", hosts=GOOD)
    assert ("`" not in shown) == live, shown


TRICKS_IN_ADDRESSES = "\\/@:#?%&=.;\uff0f\uff20\u3002\u00adab0[]"
END_OF_HOST = re.compile(r"[\\/?#]")


@given(st.text(TRICKS_IN_ADDRESSES), st.text(TRICKS_IN_ADDRESSES), st.sampled_from("\\/?#"))
def test_neither_a_user_nor_a_path_lets_a_host_in(user: str, tail: str, end: str):
    name = END_OF_HOST.sub("", user)
    for address in (
        f"https://evil.com{end}{user}@good.com{tail}",
        f"https://good.com{name}@evil.com{end}{tail}good.com",
        f"https://good.com:{name}@evil.com{end}{tail}@good.com",
    ):
        shown = re.sub("`[^`]*`", "", markdown(address, hosts=GOOD))
        assert "https:" not in shown, address
