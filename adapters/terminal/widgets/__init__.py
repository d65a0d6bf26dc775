"""The widgets of the chat, one concern per module."""
