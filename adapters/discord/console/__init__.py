"""The terminal of `parley simulate discord`: whoever sits there is the people."""
