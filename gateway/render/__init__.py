"""Safe text and its splitting: pure, and without platforms."""
