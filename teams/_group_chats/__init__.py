"""The team types: each selects speakers and keeps its own state."""
