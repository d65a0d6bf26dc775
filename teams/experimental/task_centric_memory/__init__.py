"""Task-centric memory: insights that help with later tasks."""

from teams.experimental.task_centric_memory._bank import MemoryBankConfig
from teams.experimental.task_centric_memory._controller import (
    MemoryController,
    MemoryControllerConfig,
)

__all__ = ["MemoryBankConfig", "MemoryController", "MemoryControllerConfig"]
