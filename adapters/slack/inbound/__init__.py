"""Slack's inbound side: payloads are parsed, completed and handed in."""
