"""Slack's way in: payloads to values, values to messages, messages to the gateway."""
