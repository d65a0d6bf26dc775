"""Discord events on their way in: parsed, given files, caught up with."""
