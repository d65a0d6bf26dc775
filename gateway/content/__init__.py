"""Content of a message: files, images, foreign text, its task."""
