"""Sessions between people and teams: durability, policy, rendering, configuration, commands."""
