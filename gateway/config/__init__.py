"""The config: tables of config.toml, their loading and one report of every mistake."""
