"""The proxy of the environment or the config, and hosts without it."""

import os

import pytest

from gateway.base.proxy import Proxies, parse_proxy, reach_directly, use_proxy
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
        ({"ALL_PROXY": "proxy.example:3128"}, "https://slack.com/api/", PROXY),
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
