"""An id in logs: text and JSON, rotated files."""

import logging
from pathlib import Path

import pytest

from gateway.app.log_search import find_records
from gateway.base.logging import JsonFormatter, LogContext
from gateway.base.redaction import RedactingFormatter
from gateway.config.root import Config
from gateway.errors import NotFound

TEXT = RedactingFormatter("%(asctime)s %(levelname)-7s %(name)s  %(message)s")


def failure(incident: str, why: str) -> logging.LogRecord:
    try:
        raise ValueError(why)
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    text = f"incident {incident}: thread t1, turn u1 failed (our fault): ValueError"
    return logging.LogRecord("gateway", logging.ERROR, "", 0, text, (), info)


def config(folder: Path, **given: object) -> Config:
    return Config.model_validate({"store": {"folder": folder}, **given})


def test_an_error_is_found_with_its_traceback_in_text_in_json_and_in_rotated_files(tmp_path):
    log = tmp_path / "parley.log"
    one, other = failure("aaaaaa", "first\n{not a record}"), failure("bbbbbb", "about aaaaaa")
    log.with_name("parley.log.10").write_text(f"{TEXT.format(one)}\n{TEXT.format(other)}\n")
    log.with_name("parley.log.2").write_text(f"{JsonFormatter().format(other)}\n")
    log.write_text(f"{JsonFormatter().format(failure('aaaaaa', 'second'))}\n{TEXT.format(other)}\n")
    log.with_name("parley.log.old").write_text(f"{TEXT.format(one)}\n")
    older, newer = find_records(config(tmp_path), "aaaaaa").split("\n\n")
    assert older.splitlines()[1] == "Traceback (most recent call last):"
    assert older.endswith("ValueError: first\n{not a record}")
    assert "ERROR gateway  incident aaaaaa: thread t1" in newer
    assert newer.endswith("ValueError: second")


def test_an_unknown_id_says_which_files_were_searched(tmp_path):
    named = tmp_path / "own.log"
    settings = config(tmp_path / "store", logging={"file": named})
    with pytest.raises(NotFound, match=r"There is no log yet: .*own\.log, .*parley\.log"):
        find_records(settings, "aaaaaa")
    named.write_text(TEXT.format(failure("aaaaaab", "x")))
    with pytest.raises(NotFound, match=r"Looked in [^,]*own\.log\. `parley serve` writes to"):
        find_records(settings, "aaaaaa")


def test_a_turn_is_found_by_its_id_and_its_thread_s_with_what_it_used(tmp_path):
    record = logging.LogRecord("gateway", logging.INFO, "", 0, "turn done", (), None)
    record.facts = {"team": "support", "tool_calls": 2}
    with LogContext("t1", "u1"):
        line = JsonFormatter().format(record)
    (tmp_path / "parley.log").write_text(f"{line}\n")
    for ident in ("t1", "u1"):
        said = find_records(config(tmp_path), ident)
        assert said.endswith("turn done thread=t1 turn=u1 team=support tool_calls=2")


def test_who_looks_for_a_turn_is_told_that_it_may_have_been_left_out(tmp_path):
    with pytest.raises(NotFound, match=r"may be left out \(\[logging\] sample\)"):
        find_records(config(tmp_path, logging={"sample": 0.5}), "u1")
