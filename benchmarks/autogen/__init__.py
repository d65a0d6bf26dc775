"""AutoGen 0.7.5 as the other side: its environment, and data that it wrote."""
