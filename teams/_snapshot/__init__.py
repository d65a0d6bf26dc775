"""Snapshots and deltas: the compact, append-friendly state format."""
