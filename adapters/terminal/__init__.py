"""The terminal: a chat with the team, full-screen or line by line.

Importing it loads neither Textual nor pydantic: the composer is painted before anything heavy is
read. Its settings are the config's `[terminal]` table, which the command line reads.
"""

from adapters.terminal.chat import run_chat
from adapters.terminal.settings import Settings

__all__ = ["Settings", "run_chat"]
