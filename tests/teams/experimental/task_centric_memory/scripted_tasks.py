"""Tasks with scripted models."""

from pathlib import Path

from teams.experimental.task_centric_memory import MemoryControllerConfig


def plain(folder: Path) -> MemoryControllerConfig:
    return {
        "generalize_task": False,
        "generate_topics": False,
        "validate_memos": False,
        "MemoryBank": {"path": str(folder)},
    }
