"""Work of one thread: lane, turn, requests."""
