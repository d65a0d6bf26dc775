"""Imports Mem0 once, silent and with the warnings that its own import gives."""

import os
import warnings
from contextlib import suppress
from importlib import import_module
from tempfile import TemporaryDirectory

os.environ["MEM0_TELEMETRY"] = "False"
FOLDER = TemporaryDirectory(prefix="mem0-")
os.environ["MEM0_DIR"] = FOLDER.name  # read once, at import

with warnings.catch_warnings(), suppress(ImportError):
    warnings.simplefilter("ignore")
    import_module("mem0")
