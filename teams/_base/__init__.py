"""Base parts of the engine that know no agents and no messages."""
