"""These tests need the extra `web`."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("textual_serve") else ["test_*.py"]
