from tests.fakes.discord_wire import discord, discord_client

__all__ = ["discord", "discord_client"]
