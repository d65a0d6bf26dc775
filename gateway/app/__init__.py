"""The composition root: each command loads, assembles and runs here."""
