"""Threads shown on Discord: the text surface, its payloads and replies."""
