"""AutoGen 0.7.5 for comparison: its environment, and data that it wrote."""
