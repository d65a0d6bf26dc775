"""References: checks that every name used in a config exists."""
