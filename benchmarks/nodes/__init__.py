"""One, two and three nodes on one database of PostgreSQL."""
