"""Backfill: what was said in pauses is read page by page, and answered or offered."""
