"""The terminal of `parley simulate slack`: whoever sits there is the people."""
