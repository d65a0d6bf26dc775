"""Imports faster-whisper once, with the warnings that its own import gives."""

import warnings
from contextlib import suppress
from importlib import import_module

with warnings.catch_warnings(), suppress(ImportError):
    warnings.simplefilter("ignore")
    import_module("faster_whisper")
