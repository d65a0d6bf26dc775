"""The log of a chat never reaches its screen."""

import logging
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.base.logging import log_to


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
def test_a_full_disk_ends_the_log_without_a_word_on_the_terminal(tmp_path, capfd):
    (tmp_path / "parley.log").symlink_to("/dev/full")
    logger = logging.getLogger()
    before, level = logger.handlers[:], logger.level
    try:
        log_to(tmp_path / "parley.log", "info")
        logging.getLogger("gateway").info("nobody can write this")
    finally:
        logging.captureWarnings(False)
        for handler in logger.handlers:
            with suppress(OSError):
                handler.close()
        logger.handlers[:] = before
        logger.setLevel(level)
    sys.stderr.flush()
    assert capfd.readouterr().err == ""
