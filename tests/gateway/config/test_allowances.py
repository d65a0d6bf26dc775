"""Powers that a file is allowed."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gateway.config.allowances import (
    Allowance,
    AllowanceConfig,
    AllowedAddress,
    AllowedCommand,
    AllowedMount,
    AllowedVariable,
    covers,
    origin_of,
    toml_entry,
)

READ = TypeAdapter[Allowance](AllowanceConfig)
SERVER = "https://a.example"
ADDRESS = AllowedAddress(base_url=SERVER)
KEY = READ.validate_python({"env": "KEY", "for": SERVER})


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://A.example:443/b?c", "https://a.example"),
        ("http://a.example:8080", "http://a.example:8080"),
        ("http://[::1]:1/", "http://[::1]:1"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_an_origin_is_scheme_host_and_port(address: str, origin: str) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize("address", ["a.example", "https://", "http://a:b:c"])
def test_a_text_that_is_no_address_has_no_origin(address: str) -> None:
    with pytest.raises(ValueError, match="expected an address"):
        origin_of(address)


@pytest.mark.parametrize("address", [f"{SERVER}/path", "https://*.example"])
def test_an_allowed_address_is_an_origin_alone(address: str) -> None:
    with pytest.raises(ValidationError, match="scheme, host and port alone"):
        AllowedAddress(base_url=address)


@pytest.mark.parametrize(
    ("allowed", "need", "is_covered"),
    [
        (ADDRESS, ADDRESS, True),
        (ADDRESS, AllowedAddress(base_url="http://a.example"), False),
        (
            READ.validate_python({"env": "KEY", "for": SERVER}),
            AllowedAddress(base_url=SERVER),
            True,
        ),
        (AllowedMount(mount="/a"), AllowedMount(mount="/a", read_only=True), True),
        (AllowedMount(mount="/a", read_only=True), AllowedMount(mount="/a"), False),
        (AllowedCommand(command=["a"]), AllowedCommand(command=["a", "b"]), False),
    ],
)
def test_more_of_the_same_covers_a_need(
    allowed: Allowance, need: Allowance, is_covered: bool
) -> None:
    assert covers([allowed], need) is is_covered


@pytest.mark.parametrize(
    "entry",
    [
        {"command": ["a", 'say "hi"'], "cwd": "/tmp/x"},
        {"base_url": SERVER},
        {"env": "KEY", "for": SERVER},
        {"container": {"image": "x", "a b": [1, True, "\x7f"]}},
    ],
)
def test_an_entry_reads_back_as_its_allowance(entry: dict[str, Any]) -> None:
    allowance = READ.validate_python(entry)
    again = tomllib.loads(f"allow = [{toml_entry(allowance)}]")["allow"]
    assert again == [entry]


def test_a_secret_is_a_variable_in_an_entry() -> None:
    allowance = READ.validate_python({"command": ["a"], "env": {"API_KEY": "k-1", "LANG": "${x}"}})
    assert toml_entry(allowance) == (
        '{ command = ["a"], env = { API_KEY = "${API_KEY}", LANG = "$${x}" } }'
    )
    assert not isinstance(allowance, AllowedVariable)
