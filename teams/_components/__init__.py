"""Components: objects that dump to JSON and load from it."""
