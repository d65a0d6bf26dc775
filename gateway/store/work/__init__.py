"""Threads' work folders: how they are stored, and their earlier versions."""
