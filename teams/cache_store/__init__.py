"""Stores of cached values that outlive the process."""
