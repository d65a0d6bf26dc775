"""Parley beside what people would use instead, on one simulated Slack."""
