"""Links that hide nothing, live and dead."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gateway.render.code import change_prose
from gateway.render.links import dead_links, host_of, open_links


def shown(text: str) -> str:
    return change_prose(text, open_links)


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("[docs](https://a.example/a?b=1)", "[docs](https://a.example/a?b=1) (a.example)"),
        ("[`run()`](https://a.example/r)", "[`run()`](https://a.example/r) (a.example)"),
        ("[README.md](https://github.com/a/b)", "[README.md](https://github.com/a/b) (github.com)"),
        ("[g.com/a](https://g.com/a/b)", "[g.com/a](https://g.com/a/b) (g.com)"),
        ("[x](https://a.example/b_(c))", "[x](https://a.example/b_%28c%29) (a.example)"),
        ("[x](https://ü.com/ä)", "[x](https://xn--tda.com/%C3%A4) (xn--tda.com)"),
        ("<https://evil.example|my bank>", "[my bank](https://evil.example) (evil.example)"),
        ("![chart](https://e.example/c.png)", "[chart](https://e.example/c.png) (e.example)"),
        ("![](https://e.example/c.png)", "https://e.example/c.png"),
        ('[a](https://evil.example "good")', "[a](https://evil.example) (evil.example)"),
        ("[https://a.example](https://a.example)", "https://a.example"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("https://a.example/x.", "https://a.example/x."),
        # Words that look like another address give way to the address.
        ("[good.com](https://evil.example)", "https://evil.example"),
        ("[https://good.example/a](https://evil.example)", "https://evil.example"),
        ("[my bank (good.com)](https://evil.example)", "https://evil.example"),
        ("[`good.com`](https://evil.example)", "https://evil.example"),
        ("[www.good.bar](https://evil.example)", "https://evil.example"),
        ("[g\u043e\u043ed.com](https://good.com)", "https://good.com"),
        ("[good\uff0ecom](https://evil.example)", "https://evil.example"),
        ("[go*od*.com](https://evil.example)", "https://evil.example"),
        ("[**good**.com](https://evil.example)", "https://evil.example"),
        ("[good\\.com](https://evil.example)", "https://evil.example"),
        ("[good&#46;com](https://evil.example)", "https://evil.example"),
        ("[good&amp;#46;com](https://evil.example)", "https://evil.example"),
        ("[allegro.pl](https://evil.example)", "https://evil.example"),
        ("[g_o_od.com](https://evil.example)", "https://evil.example"),
        ("[**README**.md](https://a.example)", "[**README**.md](https://a.example) (a.example)"),
        # Nothing else is a link that hides its address.
        (
            "[[a](https://x.example)](https://y.example)",
            "[a](https://x.example) (x.example) (https://y.example)",
        ),
        ("[my [good] bank](https://evil.example)", "[my [good] bank] (https://evil.example)"),
        ("[a](<https://evil.example/b c>)", "[a] (<https://evil.example/b c>)"),
        ("[a]: https://evil.example", "\\[a]: https://evil.example"),
        ("> - [a]: https://evil.example", "> - \\[a]: https://evil.example"),
        ("[a\nb]: https://evil.example", "\\[a\nb]: https://evil.example"),
        ("[a](javascript:alert(1))", "a (javascript:alert(1) )"),
        ("[write](mailto:a@b.example)", "write (mailto:a@b.example)"),
        ("[a](https://good.com@evil.example)", "a (`https://good.com@evil.example`)"),
        ("https://good.com@evil.example", "`https://good.com@evil.example`"),
        ("https:///good.com", "`https:///good.com`"),
        ("a list [x] (and y)", "a list [x] (and y)"),
        ("mail me at a@example.com", "mail me at a@example.com"),
    ],
)  # fmt: skip
def test_a_link_is_followed_by_its_host(text: str, live: str) -> None:
    assert shown(text) == live


def test_of_a_very_long_link_the_address_stands_there() -> None:
    url = f"https://a.example/{'x' * 500}"
    assert shown(f"[words]({url})") == f"words ({url})"


def test_what_may_still_become_a_link_waits() -> None:
    assert shown("See [the docs](https://docs.exam") == "See [the docs](https://docs.exam"


def test_masks_in_masks_take_no_long_time() -> None:
    assert "](" not in shown("[" * 20_000 + "a" + "](https://e.example)" * 20_000).replace(
        "[a](https://e.example) (e.example)", ""
    )


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        (
            "https://docs.example/a and https://evil.example/?d=1.",
            "{} and `https://evil.example/?d=1`.",
        ),
        ("www.evil.example!", "`www.evil.example`!"),
        ("[a](https://evil.example) (evil.example)", "a (`https://evil.example`)"),
        ("[a](https://docs.example) (docs.example)", "[a](https://docs.example) (docs.example)"),
        ("`https://evil.example`", "`https://evil.example`"),
    ],
)
def test_while_a_text_grows_only_listed_hosts_are_links(text: str, dead: str) -> None:
    assert dead_links(text, ["docs.example"]) == dead.format("https://docs.example/a")


@pytest.mark.parametrize(
    ("hosts", "live"),
    [
        (["*"], ["a.example.com", "example.com", "evil.example"]),
        ([".example.com"], ["a.example.com", "example.com"]),
        ([".EXAMPLE.com"], ["a.example.com", "example.com"]),
        (["example.com"], ["example.com"]),
        ([], []),
    ],
)
def test_a_list_of_hosts_may_name_all_below_one_and_all(hosts: list[str], live: list[str]) -> None:
    every = ["a.example.com", "example.com", "evil.example", "badexample.com"]
    alive = [host for host in every if dead_links(f"https://{host}/", hosts) == f"https://{host}/"]
    assert alive == (every if hosts == ["*"] else live)


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
        ("https://good.com.evil.com", False),
        ("https://evil.com#@good.com", False),
        ("https://evil.com?@good.com", False),
        ("https://g\u043e\u043ed.com", False),  # Cyrillic letters
        ("https://good.com:99999", False),
    ],
)
def test_a_host_is_the_one_that_browsers_open(address: str, live: bool) -> None:
    text = dead_links(shown(f"see {address} now"), GOOD)
    assert ("`" not in text) == live, text


TRICKS_IN_ADDRESSES = "\\/@:#?%&=.;\uff0f\uff20\u3002\u00adab0[]"
END_OF_HOST = re.compile(r"[\\/?#]")


@given(st.text(TRICKS_IN_ADDRESSES), st.text(TRICKS_IN_ADDRESSES), st.sampled_from("\\/?#"))
def test_neither_a_user_nor_a_path_lets_a_host_in(user: str, tail: str, end: str) -> None:
    name = END_OF_HOST.sub("", user)
    for address in (
        f"https://evil.com{end}{user}@good.com{tail}",
        f"https://good.com{name}@evil.com{end}{tail}good.com",
        f"https://good.com:{name}@evil.com{end}{tail}@good.com",
    ):
        text = re.sub("`[^`]*`", "", dead_links(shown(address), GOOD))
        assert "https:" not in text, address


PIECES = st.lists(
    st.sampled_from(
        [
            *("[", "]", "(", ")", "](", "<", ">", "|", "`", "``", "\\", "!", '"', " ", "\n", "- "),
            *("> ", "    ", "```", "~~~", "]: ", "a", "https://evil.example/a", "https://good.com"),
            *("[a](https://evil.example)", "[b]: https://evil.example\n\n", "[good.com]", "\n\n"),
        ]
    )
).map("".join)


@given(PIECES)
@example("\\`[a](https://evil.example)`")
@example("`x\n` [a](https://evil.example) `")
@example("    ```\n[a](https://evil.example)")
@example("- ```\n  ```\n[a](https://evil.example)")
def test_however_marks_are_put_together_no_link_hides_its_host(text: str) -> None:
    """As CommonMark reads it, which shares no code with what wrote it."""
    out = shown(text)
    for token in MarkdownIt("commonmark").parse(out):
        children = token.children or []
        for n, child in enumerate(children):
            if child.type != "link_open":
                continue
            href = str(child.attrs["href"])
            rest = "".join(each.content for each in children[n:])
            assert host_of(href) in rest, out
