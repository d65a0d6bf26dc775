"""The wire server of a simulated Discord."""
