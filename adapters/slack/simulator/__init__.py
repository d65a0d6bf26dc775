"""The wire server of a simulated Slack, which adapters reach as they reach the real one."""
