"""The contracts: agents, teams, termination conditions, turn records."""
