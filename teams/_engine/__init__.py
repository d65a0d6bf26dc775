"""The engine: the turn loop of every group chat."""
