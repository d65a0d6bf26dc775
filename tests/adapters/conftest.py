"""Fixtures for tests across platforms."""

from tests.fakes.discord_wire import discord

__all__ = ["discord"]
