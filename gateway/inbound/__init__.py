"""Inbound messages: their meaning to the team and their consequences."""
