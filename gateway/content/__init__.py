"""The content of a message: files, images, foreign text, the task made of it."""
