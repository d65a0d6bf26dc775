"""The screens: the chat, and those that cover it."""
