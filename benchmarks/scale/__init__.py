"""A model of nodes, database, platforms and model, played with the messages of a recorded day."""
