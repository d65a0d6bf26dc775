"""Two-agent chats, measured against AG2 0.8.7."""
