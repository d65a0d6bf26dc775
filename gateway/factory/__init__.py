"""The factory: teams, agents, models and parts, built from a config."""
