"""The terminal's cost: first paint, streamed answer, long transcript, and idling."""
