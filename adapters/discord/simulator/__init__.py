"""A Discord on this machine, for trying a team without one and for tests."""
