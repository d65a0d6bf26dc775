"""Foreign text on terminals, approval cards and chat platforms."""

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.render.sanitize import AT, label, sanitize, visible

EVERY = [each for each in range(0x110000) if not 0xD800 <= each < 0xE000]


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
        ("a\ufffcb\u2800\u2d7fc", "a⟨U+FFFC⟩b⟨U+2800⟩⟨U+2D7F⟩c"),
        ("\U0001d159\U00016fe4\u115f\u17b4", "⟨U+1D159⟩⟨U+16FE4⟩⟨U+115F⟩⟨U+17B4⟩"),
        ("\u2065\U000e0fff\ufff0\ufe0e", "⟨U+2065⟩⟨U+E0FFF⟩⟨U+FFF0⟩⟨U+FE0E⟩"),
        ("❤️ 👩🏽‍💻 1️⃣ 🏳️‍🌈", "❤️ 👩🏽‍💻 1️⃣ 🏳️‍🌈"),
        ("rm\ufe0f 1\ufe0f 😀\u200d😀", "rm⟨U+FE0F⟩ 1⟨U+FE0F⟩ 😀⟨U+200D⟩😀"),
        ("❤️\ufe0f\u200d❤️", "❤️⟨U+FE0F⟩⟨U+200D⟩❤️"),
        ("e\u0301\u0302 x", "e\u0301\u0302 x"),
        ("e\u0301\u0302\u0303 x", "e⟨3 combining marks⟩ x"),
        ("a" + "\u0489" * 5000, "a⟨5,000 combining marks⟩"),
        ("a\u0301\u034f\u0301\u0301", "a\u0301⟨U+034F⟩\u0301\u0301"),
        ("हिन्दी tiếng ภาษาไทย", "हिन्दी tiếng ภาษาไทย"),
    ],
)
def test_a_card_shows_what_can_not_be_seen(text: str, shown: str):
    assert visible(text) == shown


def test_no_ignorable_character_is_left_on_a_card():
    for each in regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(map(chr, EVERY))):
        assert visible(f"a{each}b") == f"a⟨U+{ord(each):04X}⟩b"


def test_a_long_text_for_a_card_takes_linear_time():
    assert visible("e\u0301\u200d" * 100_000).count("⟨U+200D⟩") == 100_000
    assert visible("😀\u200d" * 100_000).count("⟨U+200D⟩") == 100_000


def test_a_label_is_one_short_line_without_marks():
    assert label("Hello\n<@U1> @here  world", 40) == f"Hello \u2039@U1> {AT}here world"
    assert label("x" * 50, 10) == "x" * 9 + "\u2026"


@pytest.mark.parametrize("text", ["</div>", "<T>", "a << b", "<!-- x -->", "a <# b"])
def test_a_label_keeps_what_is_no_mark(text: str):
    assert label(text, 40) == text
