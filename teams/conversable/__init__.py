"""Chats of two agents, under AG2's names."""
