"""Ready-made teams, by AutoGen's names; the team types are in `teams` itself."""
