"""A day of messages, played against a model of an installation."""
