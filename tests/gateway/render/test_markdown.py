"""An agent's Markdown for a platform, and a text as mrkdwn."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.render.markdown import Dialect, markdown, mrkdwn

PLAIN = Dialect(acts=re.compile("<(?=@)"), instead="(")
FEW = Dialect(
    acts=re.compile("<(?=@)"),
    instead="(",
    acts_in_code=re.compile("<(?=@all>)"),
    own=re.compile(r"^(?P<before>[ >]*)(?P<mark>-#)", re.MULTILINE),
    headings=2,
    rules=False,
    long_fences=False,
)
PINGS = re.compile(r"@(?:everyone|here|channel)|<[@#!]", re.IGNORECASE)
TRICKS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A\n## B ##\n### C `x` ##\n####### D", "# A\n## B ##\n**C `x`**\n####### D"),
        ("### **C**", "**C**"),
        ("a\n\n---\n* * *\n___", f"a\n\n{'─' * 12}\n{'─' * 12}\n{'─' * 12}"),
        ("|---|\n--", "|---|\n--"),
        (">a\n> b\n>> c\n> > > d", "> a\n> b\n> │ c\n> │ │ d"),
        ("- [ ] a\n1. [X] b\n> * [x] c", "☐ a\n1. ☑ b\n> ☑ c"),
        ("- a\n  * [x] b\n- c", "- a\n  ☑ b\n- c"),
        ("[x] a\n- [y] b\n- [x](https://a.com/)", "[x] a\n- [y] b\n- [x](https://a.com/) (a.com)"),
        ("so \\(a^2\\)", "so `a²`"),
        ("-# small\n> -# small\na -# b", "\\-# small\n> \\-# small\na -# b"),
        ("<@1> `<@1> <@all>`", "(@1> `<@1> \u2039@all>`"),
        ("~~~py title\nx\n~~~", "```py\nx\n```"),
        ("````\n```\n-# a\n```\n````", "```\n\u02cb\u02cb\u02cb\n-# a\n\u02cb\u02cb\u02cb\n```"),
        ("> ~~~\n> a\n> ~~~", "> ```\n> a\n> ```"),
        ("~~~\nnever ends", "```\nnever ends"),
    ],
)
def test_what_a_platform_lacks_becomes_what_it_has(text: str, shown: str) -> None:
    assert markdown(text, FEW) == shown


@pytest.mark.parametrize("text", ["### C", "---", "-# small", "````\n```\n````", "> a"])
def test_what_a_platform_has_stays(text: str) -> None:
    assert markdown(text, PLAIN) == text


CODE = [
    "<div>a &amp; b</div>",
    "<!-- x --><br/>",
    "std::vector<std::pair<int, T>> v; auto f = [&](int x) { return m[0](x); };",
    "return <Foo bar={x => <b>@here</b>}/>;",
    "<?xml version='1.0'?><a:b c:d='e'/>",
    "# no heading",
    "-# no small print",
    "- [ ] no task $a^2$",
    "> > no quotation",
    "---",
    "[a](https://evil.example) https://evil.example",
]


@pytest.mark.parametrize("line", CODE)
@pytest.mark.parametrize("dialect", [PLAIN, FEW])
def test_code_stays_as_it_is(line: str, dialect: Dialect) -> None:
    assert markdown(f"`{line}`", dialect) == f"`{line}`"
    fence = f"Look:\n\n```html\n{line}\n```\n\n- item:\n  ```\n  {line}\n  ```\nend"
    assert markdown(fence, dialect) == fence


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"),
        ("already &lt;b&gt;", "already &lt;b&gt;"),
        ("`&lt;`", "`&amp;lt;`"),
        ("[a](https://b.com)", "a (https://b.com)"),
        ("[a](https://b.com) (b.com)", "a (https://b.com)"),
        ("[my bank](https://evil.example)", "my bank (https://evil.example)"),
        ("@everyone", "\uff20everyone"),
    ],
)
def test_mrkdwn_says_the_same_in_plain_text(text: str, shown: str) -> None:
    assert mrkdwn(text) == shown


@pytest.mark.parametrize(
    "text", ["@everyone", "@\u200beveryone", "<!channel>", "<\u202e@U1>", "a@HERE"]
)
def test_mrkdwn_mentions_nobody(text: str) -> None:
    assert not PINGS.search(mrkdwn(text))
    assert not TRICKS.search(mrkdwn(text))


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
            *("```", "@everyone", "<@U1>", "<!here>", "https://e.example/a", "www.e.example", "$"),
            *(
                "[a](https://e.example)",
                "\u200b",
                "\u202e",
                "\x1b[31m",
                "word",
                "\ud803",
                "0\ud804",
            ),
        ]
    )
).map("".join)


@given(MARKS)
@example("[[a](b)](c)")
@example("`x` \ud8037\ud804")
def test_however_the_marks_are_put_together_nothing_comes_through(text: str) -> None:
    for shown in (markdown(text, PLAIN), markdown(text, FEW), mrkdwn(text)):
        assert not TRICKS.search(shown)
        assert not re.search("[\ud800-\udfff]", shown)
    assert not PINGS.search(mrkdwn(text))
    assert not re.search(r"<(?!$)[^&]", mrkdwn(text))
