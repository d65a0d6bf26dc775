"""The wire server of a simulated Discord, which adapters reach as they reach the real one."""
