"""Coming over from AutoGen: programs, component files, and teams as TOML."""
