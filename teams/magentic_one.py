"""MagenticOne, a team with all its agents; see `teams.teams.magentic_one`, too."""

from teams._group_chats.magentic_bundle import MagenticOne

__all__ = ["MagenticOne"]
