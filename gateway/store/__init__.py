"""The store of sessions: protocols, records, units of work, and drivers."""
