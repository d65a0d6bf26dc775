"""Pacing of calls within a platform's limits, for every adapter."""
