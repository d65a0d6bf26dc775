"""MagenticOne, a team with all its agents."""

from teams._group_chats.magentic_bundle import MagenticOne

__all__ = ["MagenticOne"]
