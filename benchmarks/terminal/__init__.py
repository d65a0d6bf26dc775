"""What the terminal costs: its first paint, a streamed answer, a long transcript, and idling."""
