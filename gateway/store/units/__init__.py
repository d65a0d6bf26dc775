"""Units of work: plain functions over a connection, one per store operation."""
