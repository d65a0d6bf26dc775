"""The screens: the chat, and what may lie over it for a moment."""
