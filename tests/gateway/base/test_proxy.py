"""The proxy of the environment or the config, and hosts without it."""

import os

import httpx
import pytest
from yarl import URL

from gateway.base.proxy import (
    Proxies,
    is_proxy,
    is_unreachable,
    parse_proxy,
    reach_directly,
    replace_wrong_proxies,
    tidy_no_proxy,
    use_proxy,
)
from gateway.base.redaction import REDACTION

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("variables", "url", "found"),
    [
        ({"HTTPS_PROXY": PROXY}, "https://slack.com/api/", PROXY),
        ({"https_proxy": PROXY}, "wss://gateway.discord.gg/", PROXY),
        ({"HTTPS_PROXY": PROXY}, "ws://127.0.0.1:80/", PROXY),
        (
            {"HTTPS_PROXY": PROXY, "HTTP_PROXY": "http://other:1"},
            "http://a.example",
            "http://other:1",
        ),
        ({"ALL_PROXY": PROXY}, "https://slack.com/api/", PROXY),
        ({}, "https://slack.com/api/", None),
        ({"HTTPS_PROXY": ""}, "https://slack.com/api/", None),
    ],
)
def test_each_variable_holds_for_requests_and_sockets(monkeypatch, variables, url, found):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = Proxies().find(url)
    assert (proxy and proxy.address) == found


@pytest.mark.parametrize(
    ("entry", "direct"),
    [
        ("slack.com", {"https://slack.com/api/", "https://files.slack.com/f"}),
        (".slack.com", {"https://slack.com/api/", "https://files.slack.com/f"}),
        ("*.slack.com", {"https://slack.com/api/", "https://files.slack.com/f"}),
        ("a.example, FILES.slack.com", {"https://files.slack.com/f"}),
        ("slack.com:443", {"https://slack.com/api/", "https://files.slack.com/f"}),
        ("slack.com:8443", set[str]()),
        ("127.0.0.1:9", {"http://127.0.0.1:9/"}),
        ("127.0.0.1", {"http://127.0.0.1:9/"}),
        ("::1", {"ws://[::1]:9/"}),
        ("*", {
            "https://slack.com/api/",
            "https://files.slack.com/f",
            "https://notslack.com/",
            "http://127.0.0.1:9/",
            "ws://[::1]:9/",
        }),
        ("", set[str]()),
    ],
)  # fmt: skip
def test_hosts_of_no_proxy_are_reached_without_it(monkeypatch, entry, direct):
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("no_proxy", entry)
    urls = {
        "https://slack.com/api/",
        "https://files.slack.com/f",
        "https://notslack.com/",
        "http://127.0.0.1:9/",
        "ws://[::1]:9/",
    }
    proxies = Proxies()
    assert {url for url in urls if proxies.find(url) is None} == direct


@pytest.mark.parametrize(
    "address",
    [
        PROXY,
        f"{PROXY}/",
        "http://proxy",
        "HTTP://127.0.0.1:80",
        "http://[::1]:3128",
        "http://user@proxy.example:3128",
        "http://us%40er:p%3A%23ss@proxy.example:3128",
    ],
)
def test_an_address_that_every_client_understands_is_taken(monkeypatch, address):
    monkeypatch.setenv("HTTPS_PROXY", address)
    monkeypatch.setenv("all_proxy", address)
    assert is_proxy(address)
    assert replace_wrong_proxies() == []
    assert Proxies().find("https://slack.com/")
    URL(parse_proxy(address).address)
    httpx.Client().close()


@pytest.mark.parametrize(
    "address",
    [
        "proxy.example:3128",
        "user:password@proxy.example:3128",
        "https://proxy.example:3128",
        "socks5://proxy.example:1080",
        "http://",
        "http://[bad",
        "http://[1:2]:3128",
        "http://proxy.example:none",
        "http://proxy.example:0",
        "http://proxy.example:65536",
        "http://proxy .example:3128",
        "http://user:pa#ss@proxy.example:3128",
        "http://user:12#ss@proxy.example:3128",
        "http://user:p/ss@proxy.example:3128",
        "http://user:p?ss@proxy.example:3128",
        "http://user:p@ss@proxy.example:3128",
        "http://user:p[ss@proxy.example:3128",
        f"{PROXY}/path",
    ],
)
def test_an_address_that_a_client_reads_otherwise_is_refused(monkeypatch, address):
    monkeypatch.setenv("HTTPS_PROXY", address)
    monkeypatch.setenv("http_proxy", address)
    assert not is_proxy(address)
    assert replace_wrong_proxies() == ["HTTPS_PROXY", "http_proxy"]
    assert is_unreachable("https://slack.com/")
    assert replace_wrong_proxies() == ["HTTPS_PROXY", "http_proxy"]
    httpx.Client().close()


@pytest.mark.parametrize(
    ("given", "named", "url", "reached"),
    [
        ({}, ["ALL_PROXY"], "https://slack.com/", False),
        ({"no_proxy": "localhost,127.0.0.0/8,::1"}, ["ALL_PROXY"], "http://localhost/v1", True),
        ({"HTTPS_PROXY": PROXY}, [], "https://slack.com/", True),
        ({"HTTPS_PROXY": PROXY}, [], "http://slack.com/", True),
        ({"HTTP_PROXY": PROXY}, ["ALL_PROXY"], "http://slack.com/", True),
        ({"HTTP_PROXY": PROXY}, ["ALL_PROXY"], "https://slack.com/", False),
    ],
)
def test_a_desktops_socks_proxy_counts_where_there_is_no_other(
    monkeypatch, given, named, url, reached
):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080/")
    for name, value in {"NO_PROXY": "", "no_proxy": "", **given}.items():
        monkeypatch.setenv(name, value)
    assert replace_wrong_proxies() == named
    tidy_no_proxy()
    assert is_unreachable(url) is not reached
    httpx.Client().close()


@pytest.mark.parametrize(
    ("given", "direct", "through"),
    [
        ("[::1]", "http://[::1]:8000/v1", "http://[::2]/"),
        ("::1", "http://[::1]:8000/v1", "http://[::2]/"),
        ("a.example, [::1]:8000", "http://[::1]:8000/v1", "http://[::1]:9000/"),
        ("::1/128,h:x,<local>,a.example", "http://a.example/", "http://b.example/"),
        ("bücher.example,a.example", "http://a.example/", "http://b.example/"),
        ("10.0.0.0/8,a.example", "http://a.example/", "http://b.example/"),
    ],
)
def test_no_entry_of_no_proxy_is_an_error_for_any_client(monkeypatch, given, direct, through):
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, given)
    tidy_no_proxy()
    tidy_no_proxy()
    assert Proxies().find(direct) is None
    assert Proxies().find(through)
    with httpx.Client() as client:
        assert client._transport_for_url(httpx.URL(direct)) is client._transport
        assert client._transport_for_url(httpx.URL(through)) is not client._transport


def test_a_variable_that_another_one_replaces_is_not_wrong(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy.example:1080")
    monkeypatch.setenv("https_proxy", PROXY)
    assert replace_wrong_proxies() == []


@pytest.mark.parametrize(
    ("given", "models"),
    [
        (".internal", {"https://internal/v1", "https://m.internal/v1"}),
        ("*.internal, .a.example:8443", {"https://internal/v1", "https://m.internal/v1"}),
        ("internal", {"https://internal/v1", "https://m.internal/v1"}),
        ("*", {"https://internal/v1", "https://m.internal/v1", "https://notinternal/v1"}),
        ("", set[str]()),
    ],
)
def test_a_domain_of_no_proxy_is_itself_reached_directly_by_every_client(
    monkeypatch, given, models
):
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, given)
    tidy_no_proxy()
    tidy_no_proxy()
    urls = {"https://internal/v1", "https://m.internal/v1", "https://notinternal/v1"}
    assert {url for url in urls if Proxies().find(url) is None} == models
    entries = os.environ["NO_PROXY"].split(",")
    assert len(entries) == len({*entries})
    with httpx.Client() as client:
        direct = client._transport
        assert {
            url for url in urls if client._transport_for_url(httpx.URL(url)) is direct
        } == models


def test_user_and_password_are_taken_out_of_the_address():
    proxy = parse_proxy("http://us%40er:p%3Ass@[::1]:3128/")
    assert (proxy.address, proxy.user, proxy.password) == ("http://[::1]:3128", "us@er", "p:ss")
    assert "p:ss" not in repr(proxy)


def test_the_configs_proxy_replaces_those_of_the_environment(monkeypatch):
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "http://other.example:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "a.example")
    use_proxy("http://me:canary-password@proxy.example:3128")
    reach_directly(["127.0.0.1:9"])
    proxies = Proxies()
    assert str(proxies.find("https://slack.com/")) == f"Proxy({PROXY!r})"
    assert proxies.find("https://a.example") is proxies.find("http://127.0.0.1:9") is None
    assert "canary" not in REDACTION.known(os.environ["HTTPS_PROXY"])
