"""Nodes on one database, through faults, judged message by message."""
