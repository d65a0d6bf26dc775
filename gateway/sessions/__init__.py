"""Sessions: one thread's work, from its lane to its turn and its requests."""
