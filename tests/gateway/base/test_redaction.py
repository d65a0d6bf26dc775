"""Secrets are taken out of what is written down, whoever writes it."""

import json
import logging
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from gateway.app.load import load_config
from gateway.base.logging import OWN, log_to
from gateway.base.redaction import (
    HIDDEN,
    REDACTION,
    SHORTEST,
    Redaction,
    secrets_of,
    secrets_of_environment,
)
from gateway.base.unseen import UNSEEN
from gateway.config.models import MODELS

SECRET = "correct horse/battery+staple"


def is_word(text: str) -> bool:
    """True for what is long enough in one line that is seen."""
    return len("".join(UNSEEN.sub("", text).splitlines())) >= SHORTEST


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REDACTION, "_secrets", frozenset())
    monkeypatch.setattr(REDACTION, "_forms", frozenset())
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log_to(tmp_path / "parley.log", "debug")
    REDACTION.add([SECRET])
    yield lambda: (tmp_path / "parley.log").read_text()
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level = handlers, level
    for name in OWN:
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.captureWarnings(capture=False)


@pytest.mark.parametrize(
    "text",
    [
        "xoxb-123456789012-123456789012-abcdefghijklmnop",
        "xapp-1-A012345-123456-abcdef",
        "xoxe.xoxp-1-Mi0yLTk5",
        "sk-proj-abcdefghijklmnop",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "ghp_abcdefghijklmnop1234",
        "AIzaSyabcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdef",
        "gAAAAABhSomethingThatIsLongEnoughToBeAFernetToken0123456789==",
    ],
)
def test_what_looks_like_a_token_is_hidden(text):
    assert Redaction().all(f"({text})") == f"({HIDDEN})"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abcdefghijklmnopqrst", f"Authorization: {HIDDEN}"),
        ("{'token': 'abc def', 'channel': 'C1'}", f"{{'token': '{HIDDEN}', 'channel': 'C1'}}"),
        ('{"client_secret": "x"}', f'{{"client_secret": "{HIDDEN}"}}'),
        ("password=hunter22&user=a", f"password={HIDDEN}&user=a"),
        ("wss://w.example/?ticket=abcdef-123&id=1", f"wss://w.example/?ticket={HIDDEN}&id=1"),
        ("https://ann:hunter2@h.example/", f"https://{HIDDEN}@h.example/"),
        ("https://hooks.slack.com/services/T1/B2/abcdef", f"https://hooks.slack.com/{HIDDEN}"),
        ("('Authorization', 'Bot abc')", f"('Authorization', '{HIDDEN}')"),
        ("12 prompt tokens; max_tokens: 100000", "12 prompt tokens; max_tokens: 100000"),
        ("the token bucket is empty", "the token bucket is empty"),
    ],
)
def test_what_is_called_a_secret_is_hidden(text, shown):
    assert Redaction().all(text) == shown


@pytest.mark.parametrize(
    "evil",
    [
        "a",
        "M-",
        "token",
        "eyJ-",
        "://",
        "token= ",
        "bearer ",
        "password='",
        "x:y@",
        "\x1b]x",
        "\u200bs",
        "\\",
        "\\u200b",
        "\\u001b[",
        "\\u001b]x",
        "\\\\\\\\u",
    ],
)
def test_no_text_takes_long(evil):
    text = evil * (60_000 // len(evil))
    begun = time.process_time()
    Redaction([SECRET]).all(text)
    assert time.process_time() - begun < 3


@given(st.text(min_size=8).filter(is_word), st.text(), st.text())
def test_a_known_secret_is_never_left(secret, before, after):
    hidden = Redaction([secret]).known(f"{before}{secret}{after}")
    assert secret not in hidden.replace(HIDDEN, "") or secret in before + after


PASSWORD = "Tr0ub4dor&3-horse"
UNSEEN_PARTS = {
    "no width": "\u200b",
    "soft hyphen": "\u00ad",
    "colour": "\x1b[31m",
    "8-bit colour": "\x9b0m",
    "window title": "\x1b]0;title\x07",
    "hyperlink": "\x1b]8;;https://h.example\x1b\\",
    "other escapes": "\x1b(B\x1b7",
    "control": "\x00\x07",
    "joiners": "\u200c\u200d",
    "tags": "\U000e0041\U000e0101",
    "filler": "\u3164",
    "object": "\ufffc\u2800",
    "null note": "\U0001d159",
    "order": "\u202e\u2066",
    "style": "\ufe0f",
    "line ends that are shown as ends": "\u2028\x85",
}


@pytest.mark.parametrize("part", UNSEEN_PARTS.values(), ids=UNSEEN_PARTS)
@pytest.mark.parametrize("at", [1, 4, 9])
def test_what_nobody_sees_splits_no_secret(part: str, at: int):
    known = Redaction([PASSWORD])
    split = f"{PASSWORD[:at]}{part}{PASSWORD[at:-2]}{part}{PASSWORD[-2:]}"
    assert known.known(f"{part}a {split}{part} b") == f"{part}a {HIDDEN}{part} b"
    assert known.known(part.join(PASSWORD)) == HIDDEN
    if "\x85" not in part:
        token = f"sk-{part}proj-{part}abcdefgh"
        assert known.all(f"{part}use {token} {part}") == f"{part}use {HIDDEN} {part}"
        assert known.all(f"api_{part}key={part}abcd{part}ef") == f"api_{part}key={part}{HIDDEN}"


def written(text: str) -> list[str]:
    """The text as JSON, as JSON inside of JSON, as Python."""
    inner = json.dumps({"key": text})
    return [inner, json.dumps({"arguments": inner}), repr(text), inner.replace("\\u", "\\\\\\u")]


@pytest.mark.parametrize("part", UNSEEN_PARTS.values(), ids=UNSEEN_PARTS)
@pytest.mark.parametrize("at", [1, 4, 9])
def test_an_escape_of_what_nobody_sees_splits_no_secret(part: str, at: int):
    part = part.replace("\u2028", "").replace("\x85", "") or "\u200b"
    known = Redaction([PASSWORD])
    for text in written(f"{part}a {PASSWORD[:at]}{part}{PASSWORD[at:]}{part} b"):
        hidden = known.known(text)
        assert HIDDEN in hidden
        assert PASSWORD[at:] not in hidden
    for text in written(f"use sk-{part}proj-{part}abcdefgh"):
        assert "abcdefgh" not in known.all(text)


def test_escapes_without_secrets_stay_as_they_are():
    for text in (*written("a\u200b \x1b[31mb \U000e0041 right"), "C:\\bin\\x", "\\u12 \\ud800 \\"):
        assert Redaction([SECRET]).all(text) == text


@pytest.mark.parametrize("inner", [PASSWORD, "\u200b".join(PASSWORD), "\x1b[m".join(PASSWORD)])
@pytest.mark.parametrize("around", ["\x1b]0;{}\x07", "\x1bP{}\x1b\\", "\x9d{}\x9c"])
def test_a_secret_within_a_sequence_is_hidden_too(around: str, inner: str):
    hidden = Redaction([PASSWORD]).known(around.format(inner))
    assert HIDDEN in hidden
    assert PASSWORD[:6] not in UNSEEN.sub("", hidden)


def test_text_without_secrets_stays_as_it_is():
    text = "a\x1b[31mb\u200bc\x1b]0;t\x07 \x00\u2800 right"
    assert Redaction([SECRET]).all(text) == text


def test_a_secret_with_what_nobody_sees_is_found_without_it():
    assert Redaction(["correct\u200bhorse"]).known("x correcthorse") == f"x {HIDDEN}"


def test_the_log_has_no_secrets_from_any_logger_at_any_level(log):
    sdk = logging.getLogger("slack_sdk.web.async_base_client")
    sdk.debug("SDKs are not heard at this level")
    logging.getLogger("adapters.slack").debug("own token %s", SECRET)
    sdk.info("Sending: %s", {"token": "xoxb-123456789012-abcdef", "text": SECRET})
    sdk.info("url https://h.example/?x=correct%20horse%2Fbattery%2Bstaple")
    try:
        raise ValueError(f"bad key {SECRET}")
    except ValueError:
        logging.getLogger("openai").exception("failed with %r", SECRET)
    logging.getLogger("gateway").warning("fine", stack_info=True)
    text = log()
    assert "Sending" in text
    assert "own token" in text
    assert "not heard" not in text
    assert "ValueError: bad key" in text
    for part in ("horse", "battery", "staple", "xoxb"):
        assert part not in text


def test_every_secret_of_a_config_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "from-the-environment")
    monkeypatch.setenv("SOME_API_TOKEN", "from-an-sdks-variable")
    (tmp_path / "key").write_text("from-a-file\n")
    (tmp_path / "config.toml").write_text(
        """
        [models.a]
        model = "gpt-4o"
        api_key_env = "MY_KEY"
        [models.b]
        model = "gpt-4o"
        api_key_file = "key"
        options = { default_headers = { x_api_key = "from-the-options" } }
        """
    )
    config = load_config(tmp_path / "config.toml").config
    assert {*secrets_of(config)} >= {"from-the-environment", "from-a-file", "from-the-options"}
    assert "from-an-sdks-variable" in {*secrets_of_environment()}
    assert "from-the-environment" not in repr(config)


def test_a_proxys_password_is_a_secret_without_a_scheme_too(monkeypatch):
    monkeypatch.setenv("Https_Proxy", "user:canary%40password@proxy.example:3128")
    assert {*secrets_of_environment()} >= {"canary%40password", "canary@password"}


def test_a_secret_is_never_part_of_a_sections_text():
    model = MODELS.table(model="m", api_key=SecretStr(SECRET))
    for text in (repr(model), str(model), model.model_dump_json()):
        assert SECRET not in text
