"""Slack and Discord as people meet them: the real SDKs against the simulators of the package."""
