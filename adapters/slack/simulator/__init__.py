"""The wire server of a simulated Slack."""
