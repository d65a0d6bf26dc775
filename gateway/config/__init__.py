"""The tables of config.toml, their loading, and a report of mistakes."""
