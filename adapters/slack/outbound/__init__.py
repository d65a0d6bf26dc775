"""Threads shown in Slack: the text surface, its blocks and streams."""
