"""The log: never on a chat's screen, its turns sampled."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.base.logging import OWN, LogContext, flush_log, log_json, log_to

LOG = logging.getLogger("gateway")


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back as it was."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers = []
    yield root
    logging.captureWarnings(False)
    for handler in root.handlers:
        with suppress(OSError):
            handler.close()
    root.handlers[:] = before
    root.setLevel(level)
    for name in (*OWN, "psycopg", "httpx"):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
@pytest.mark.parametrize("begin", [log_to, log_json])
def test_a_full_disk_ends_the_log_without_a_word_on_the_terminal(tmp_path, capfd, root, begin):
    (tmp_path / "parley.log").symlink_to("/dev/full")
    begin(tmp_path / "parley.log", "info")
    LOG.info("nobody can write this")
    flush_log()
    sys.stderr.flush()
    assert capfd.readouterr().err == ""


def routine(turn: str, *, warns: bool = False) -> None:
    """Log a turn that went well, but for a warning."""
    with LogContext("t", turn):
        if warns:
            LOG.warning("it took two tries")
        LOG.info("turn done", extra={"routine": True, "facts": {"took": 0.12345, "tools": 0}})


def logged(file: Path) -> list[dict[str, object]]:
    """The lines of turns."""
    flush_log()
    lines = map(json.loads, file.read_text().splitlines())
    return [line for line in lines if line["message"] == "turn done"]


def test_a_share_of_the_routine_turns_is_logged_and_each_with_a_warning(tmp_path, root):
    file = tmp_path / "own.log"
    log_json(file, "info", 0.25)
    for number in range(400):
        routine(f"{number:015x}")
    kept = [line["turn"] for line in logged(file)]
    assert 60 < len(kept) < 140
    for number in range(400):
        routine(f"{number:015x}")
    assert [line["turn"] for line in logged(file)[len(kept) :]] == kept
    for number in range(50):
        routine(f"warned {number}", warns=True)
    assert len(logged(file)) == 2 * len(kept) + 50
    LOG.info("turn done")  # no turn's own line
    assert len(logged(file)) == 2 * len(kept) + 51


@pytest.mark.parametrize(("level", "count"), [("debug", 1), ("info", 0)])
def test_nothing_is_left_out_at_level_debug(tmp_path, root, level, count):
    file = tmp_path / "own.log"
    log_json(file, level, 0.0)
    routine("u")
    LOG.error("there is a file")
    assert len(logged(file)) == count


def test_a_line_written_elsewhere_has_its_turn_and_its_facts_rounded(tmp_path, root):
    file = tmp_path / "own.log"
    log_json(file, "info")
    routine("u")
    [line] = logged(file)
    assert (line["thread"], line["turn"], line["took"], line["tools"]) == ("t", "u", 0.123, 0)


def test_a_request_to_a_model_is_no_line(tmp_path, root):
    log_to(tmp_path / "parley.log", "info")
    logging.getLogger("httpx").info("HTTP Request: POST https://models.example/v1")
    logging.getLogger("gateway").info("ready")
    flush_log()
    assert "HTTP Request" not in (tmp_path / "parley.log").read_text()
    assert "ready" in (tmp_path / "parley.log").read_text()


def test_a_driver_of_a_database_does_not_tell_of_each_try(tmp_path, root):
    log_to(tmp_path / "parley.log", "info")
    logging.getLogger("psycopg.pool").warning("error connecting")
    logging.getLogger("gateway.store").error("the database does not answer")
    flush_log()
    assert "error connecting" not in (tmp_path / "parley.log").read_text()
    assert "the database does not answer" in (tmp_path / "parley.log").read_text()
