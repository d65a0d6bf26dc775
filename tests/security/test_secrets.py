"""Law: no secret leaves by a tool's result or a report."""

import base64
import random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gateway.base.redaction import HIDDEN, Redaction, secrets_of_environment
from gateway.base.unseen import UNSEEN
from gateway.cli import main

SECRET = "Correct-horse/battery+staple?"

WRITTEN = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64 for addresses": lambda data: base64.urlsafe_b64encode(data).decode(),
    "base64 in lines": lambda data: base64.encodebytes(data).decode(),
    "base64 in lines of Windows": lambda data: (
        base64.encodebytes(data).decode().replace("\n", "\r\n")
    ),
    "hex": bytes.hex,
    "hex in capitals": lambda data: data.hex().upper(),
    "capitals": lambda data: data.decode("latin-1").upper(),
    "small letters": lambda data: data.decode("latin-1").lower(),
}


@pytest.mark.parametrize("written", WRITTEN)
@given(before=st.binary(max_size=90), after=st.binary(max_size=90))
def test_a_secret_is_hidden_wherever_it_stands_in_what_is_encoded(written, before, after):
    encode = WRITTEN[written]
    hidden = Redaction([SECRET]).known(encode(before + SECRET.encode() + after))
    assert HIDDEN in hidden
    # Of its first and last bytes some bits are in characters shared with what is around it.
    assert len(hidden) <= len(encode(before + after)) + len(HIDDEN) + 8


WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=6).filter(
    lambda text: not UNSEEN.search(text)
)


@given(WORDS, st.sampled_from([str.upper, str.lower, str]))
def test_a_secret_is_hidden_in_whatever_case(secret, case):
    assert Redaction([secret]).known(f"<{case(secret)}>") == f"<{HIDDEN}>"


def test_a_secret_of_several_lines_is_hidden_as_a_whole_and_line_by_line():
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----"
    known = Redaction([key])
    assert known.known(f"a {key} b") == f"a {HIDDEN} b"
    assert "MIIE" not in known.known("line 2 is MIIEvQIBADANBgkq")
    assert "MIIE" not in known.known(key.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("address", "password"),
    [
        ("postgres://parley:hunter22@db.example/x", "hunter22"),
        ("redis://:hunter22@cache.example:6379/0", "hunter22"),
        ("https://ann:hunter%2F22@h.example/?a=b@c", "hunter/22"),
        ("mysql://ann:hunter/22#x@h.example/db", "hunter/22#x"),
        ("http://a:b@one.example,amqp://c:hunter22@two.example", "hunter22"),
        ("see https://a.example and smtp://ann:hunter22@mail.example now", "hunter22"),
    ],
)
def test_the_password_of_an_address_in_any_variable_is_a_secret(monkeypatch, address, password):
    monkeypatch.setenv("WHERE_IT_IS", address)
    known = Redaction(secrets_of_environment())
    assert password not in known.known(f"I read {password} there")
    assert known.known("db.example parley mail.example") == "db.example parley mail.example"


def test_what_is_no_secret_stays():
    text = random.Random(1).randbytes(20_000).hex()
    assert Redaction([SECRET]).known(text) == text


PASTED = [
    "deadbeefdeadbeefdeadbeefdeadbeef",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-proj-abcdefghijklmnop",
    "Correct-horse/battery+staple?",
]


@pytest.mark.parametrize("key", PASTED)
@pytest.mark.parametrize(
    "line",
    [
        'api_key_env = "{}"',
        'api_key_file = "{}"',
        'model = "m"\noptions = {{ api_key = ["{}"] }}',
        'model = "m"\noptions = {{ default_headers = {{ x_api_key = ["{}"] }} }}',
        'provider = "${{PASTED}}"',
        'timeout = "${{PASTED}}"',
        'model = "m"\noptions = {{ temperature = "${{PASTED}}" }}',
    ],
)
def test_a_report_about_a_config_shows_no_secret(tmp_path, monkeypatch, key, line):
    monkeypatch.setenv("PASTED", key)
    config = tmp_path / "config.toml"
    config.write_text("[models.m]\n" + line.format(key))
    done = CliRunner().invoke(main, ["check", "--offline", "--config", str(config)])
    assert done.exit_code == 2
    assert "models.m" in done.output
    if key != PASTED[-1] or "_file" not in line:  # this one is a path
        assert key not in done.output


@pytest.mark.parametrize("value", ["evil", "evil secret value"])
def test_a_report_names_the_variable_instead_of_its_value(tmp_path, monkeypatch, value):
    monkeypatch.setenv("WHO", value)
    config = tmp_path / "config.toml"
    config.write_text('[policies]\noperators = ["${WHO}"]\ntimezone = "${WHO}"\n')
    done = CliRunner().invoke(main, ["check", "--offline", "--config", str(config)])
    assert done.output.count("${WHO}") == 2
    assert value not in done.output
