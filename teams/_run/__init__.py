"""One run of a team: its stream, hooks, merged speakers and traces."""
