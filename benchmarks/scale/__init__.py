"""A recorded day, played against a model of an installation."""
