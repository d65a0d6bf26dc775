"""Backfill: missed messages are read, and answered or offered."""
