"""Imports GraphRAG once, with the warnings that its own import gives."""

import os
import warnings
from contextlib import suppress
from importlib import import_module

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch prices

with warnings.catch_warnings(), suppress(ImportError):
    warnings.simplefilter("ignore")
    import_module("graphrag.api")
