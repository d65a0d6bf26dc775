"""Public addresses, judged by the IPv4 address that they carry."""

import asyncio
import socket
from collections.abc import Callable
from ipaddress import IPv6Network
from typing import Any

import pytest

from teams._base import addresses
from teams._base.addresses import Nat64, is_public

FORMS = {
    "NAT64": "64:ff9b::{0}",
    "NAT64 of the network, /96": "64:ff9b:1::{0}",
    "NAT64 of the network, another /96": "64:ff9b:1:7:6::{0}",
    "6to4": "2002:{0}::1",
    "compatible": "::{0}",
    "mapped": "::ffff:{0}",
    "translated": "::ffff:0:{0}",
}
PRIVATE = ["7f00:1", "a9fe:a9fe", "a00:1", "c0a8:101", "6440:1", "e000:1"]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_address_counts_that_a_form_carries(form: str):
    assert is_public(form.format("808:808"))
    for private in PRIVATE:
        assert not is_public(form.format(private)), private


@pytest.mark.parametrize(
    "private",
    [
        *("::1", "::", "fe80::1%eth0", "fc00::1", "fec0::1", "feff::1", "ff0e::1", "100::1"),
        *("2001:db8::1", "3fff::1", "5f00::1", "4000::1", "64:ff9b:2::808:808"),
        *("10.0.0.1", "100.64.0.1", "224.0.0.1", "0.0.0.0", "255.255.255.255"),
        "64:ff9b:1:a9fe:a9:fe00::",  # 169.254.169.254 after /48
        "64:ff9b:1:a9fe:a9:fe00:808:808",
        "64:ff9b:1:a9:fe:a9fe::",  # after /56
        "64:ff9b:1:1:a9:fea9:fe00:0",  # after /64
        "2001:0:808:808:0:0:f5ff:fffe",  # Teredo: 10.0.0.1
        "2001:0:a00:1:0:0:f7f7:f7f7",  # its server is 10.0.0.1
        "2606:4700::5efe:a00:1",  # ISATAP
        "2606:4700::200:5efe:7f00:1",
    ],
)
def test_private_addresses(private: str):
    assert not is_public(private)


@pytest.mark.parametrize(
    "public",
    [
        *("93.184.216.34", "2606:2800:220:1::1", "2a00:1450::1"),
        *("64:ff9b:1:808:8:800::", "64:ff9b:1:8:8:808::", "64:ff9b:1:1:8:808:800:0"),
        *("2001:0:808:808:0:0:f7f7:f7f7", "2606:4700::200:5efe:808:808"),
    ],
)
def test_public_addresses(public: str):
    assert is_public(public)


@pytest.mark.parametrize(
    ("length", "private", "public"),
    [
        (32, "2606:64:a9fe:a9fe::", "2606:64:808:808::"),
        (40, "2606:64:7a9:fea9:fe::", "2606:64:708:808:8::"),
        (48, "2606:64:7:a9fe:a9:fe00::", "2606:64:7:808:8:800::"),
        (56, "2606:64:7:1a9:fe:a9fe::", "2606:64:7:108:8:808::"),
        (64, "2606:64:7:1:a9:fea9:fe00::", "2606:64:7:1:8:808:800::"),
        (96, "fd00:64::a9fe:a9fe", "fd00:64::808:808"),
    ],
)
def test_a_prefix_of_the_network_counts_with_its_length(length: int, private: str, public: str):
    prefix = IPv6Network((public, length), strict=False)
    assert not is_public(private, [prefix])
    assert is_public(public, [prefix])


def resolver(*answers: list[str] | OSError) -> tuple[Callable[..., list[Any]], list[str]]:
    """Answers one after the other, and the names that were asked for."""
    asked: list[str] = []
    left = list(answers)

    def resolve(host: str, *_: object, **__: object) -> list[Any]:
        asked.append(host)
        answer = left.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return [(socket.AF_INET6, 0, 0, "", (each, 0, 0, 0)) for each in answer]

    return resolve, asked


@pytest.mark.parametrize(
    ("answer", "prefix"),
    [
        ("2606:64::c000:aa", "2606:64::/96"),
        ("2606:64:7:1:c0:0:ab00:0", "2606:64:7:1::/64"),
        ("2606:64:7:1c0:0:ab::", "2606:64:7:100::/56"),
        ("2606:64:7:c000:0:ab00::", "2606:64:7::/48"),
        ("2606:64:7c0:0:ab::", "2606:64:700::/40"),
        ("2606:64:c000:aa::", "2606:64::/32"),
    ],
)
async def test_the_name_tells_the_prefix(monkeypatch, answer: str, prefix: str):
    resolve, asked = resolver([answer, "2606:64::1"])
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    nat64 = Nat64()
    assert await nat64.prefixes() == await nat64.prefixes() == (IPv6Network(prefix),)
    assert asked == ["ipv4only.arpa"]


async def test_a_network_without_nat64_is_asked_once(monkeypatch):
    resolve, asked = resolver(socket.gaierror(socket.EAI_NONAME, "unknown"))
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    nat64 = Nat64()
    assert await nat64.prefixes() == await nat64.prefixes() == ()
    assert len(asked) == 1


async def test_without_an_answer_it_is_asked_again_later(monkeypatch):
    resolve, asked = resolver(socket.gaierror(socket.EAI_AGAIN, "later"), ["2606:64::c000:aa"])
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    nat64 = Nat64()
    assert await nat64.prefixes() == await nat64.prefixes() == ()
    assert len(asked) == 1
    monkeypatch.setattr(addresses, "AGAIN_SECONDS", -1)
    resolve, asked = resolver(socket.gaierror(socket.EAI_AGAIN, "later"), ["2606:64::c000:aa"])
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    nat64 = Nat64()
    assert await nat64.prefixes() == ()
    assert await nat64.prefixes() == (IPv6Network("2606:64::/96"),)


async def test_several_that_ask_at_once_all_get_the_answer(monkeypatch):
    resolve, _ = resolver(*[["2606:64::c000:aa"]] * 3)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    nat64 = Nat64()
    found = await asyncio.gather(*(nat64.prefixes() for _ in range(3)))
    assert set(found) == {(IPv6Network("2606:64::/96"),)}
