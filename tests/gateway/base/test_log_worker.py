"""A thread writes the log: nobody waits, and losses are told."""

import logging
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.base.log_worker import LogWorker

PROGRAM = """
import logging, os, sys
from pathlib import Path
from gateway.base.logging import flush_log, log_json
log_json(Path(sys.argv[1]), "info")
log = logging.getLogger("gateway")
log.info("before the fork")
if (child := os.fork()) == 0:
    log.info("in the child")
    os._exit(0)
os.waitpid(child, 0)
log.info("before the end")
if sys.argv[2] == "raise":
    raise ValueError("a bug")
if sys.argv[2] == "at once":
    flush_log()
    os._exit(1)
"""


class Bug(Exception):
    """A failure of somebody's."""


class Gate(logging.Handler):
    """A target that writes only while it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.reached = threading.Event()
        self.lines: list[str] = []
        self.batches = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.reached.set()
        assert self.open.wait(10)
        self.batches += 1
        self.lines += record.getMessage().split("\n")

    def handleError(self, record: logging.LogRecord) -> None:
        self.lines.append("an error")


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def log(gate: Gate) -> Iterator[logging.Logger]:
    handler = LogWorker(gate)
    log = logging.Logger("own")
    log.addHandler(handler)
    yield log
    gate.open.set()
    handler.close()


def flush(log: logging.Logger) -> None:
    for handler in log.handlers:
        handler.flush()


def test_nobody_waits_for_a_log_that_stands_still_and_what_is_lost_is_counted(
    log, gate, monkeypatch
):
    monkeypatch.setattr("gateway.base.log_worker.ROOM", 3)
    log.warning("stuck")
    assert gate.reached.wait(10)
    for number in range(5):
        log.info("line %s", number)
    for number in range(5):
        log.error("error %s", number)
    gate.open.set()
    flush(log)
    assert gate.lines[:7] == [
        "stuck",
        *(f"line {n}" for n in range(3)),
        *map("error {}".format, range(3)),
    ]
    assert gate.lines[7:] == [
        "the log was too slow: 4 lines lost since the start, 2 of them warnings or errors"
    ]
    log.info("later")
    flush(log)
    assert gate.lines[8:] == ["later"]


def test_lines_are_gathered_and_a_warning_is_written_at_once_with_those_before_it(
    log, gate, monkeypatch
):
    monkeypatch.setattr("gateway.base.log_worker.MOMENT", 60.0)
    for number in range(20):
        log.info("line %s", number)
    assert not gate.reached.is_set()
    log.warning("look")
    assert gate.reached.wait(10)
    gate.open.set()
    flush(log)
    assert gate.lines == [*(f"line {number}" for number in range(20)), "look"]
    assert gate.batches == 1


def test_a_text_is_that_of_the_moment_at_which_it_was_logged(log, gate):
    gate.open.set()
    found, named = ["a"], {"name": "b"}
    log.info("found %s", found)
    log.info("called %(name)s", named)
    found.append("c")
    named["name"] = "d"
    flush(log)
    assert gate.lines == ["found ['a']", "called b"]


def test_a_line_that_can_t_be_formatted_is_the_target_s_to_tell_and_the_next_is_written(log, gate):
    gate.open.set()
    log.info("%d", "no number")
    log.info("%d", object())
    log.info("next")
    flush(log)
    assert sorted(gate.lines) == ["an error", "an error", "next"]


def test_closing_writes_what_waits_and_who_logs_later_writes(gate):
    gate.open.set()
    log = logging.Logger("own")
    log.addHandler(LogWorker(gate))
    log.info("before")
    log.handlers[0].close()
    assert gate.lines == ["before"]
    log.info("after")
    assert gate.lines == ["before", "after"]
    log.handlers[0].close()


def test_an_error_is_let_go_once_it_is_written(log, gate):
    gate.open.set()
    try:
        raise Bug
    except Bug as error:
        log.exception("it failed")
        left = weakref.ref(error)
    flush(log)
    assert left() is None


@pytest.mark.parametrize("end", ["raise", "at once"])
def test_each_line_stands_once_in_the_file_however_the_process_ends(tmp_path: Path, end: str):
    file = tmp_path / "own.log"
    subprocess.run([sys.executable, "-c", PROGRAM, file, end], capture_output=True, timeout=20)
    lines = file.read_text().splitlines()
    for said in ("before the fork", "in the child", "before the end"):
        assert len([line for line in lines if f'"message": "{said}"' in line]) == 1
