"""Slack and Discord through the real SDKs, on the package's simulators."""
