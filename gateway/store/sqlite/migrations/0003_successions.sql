-- Teams that took the place of others: who takes part in a thread's team, and what earlier ones remembered.

ALTER TABLE threads ADD COLUMN participants TEXT NOT NULL DEFAULT '[]';   -- of its team; empty: not known

CREATE TABLE old_states (                       -- checkpoints of teams that another one replaced
    thread       TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    definition   TEXT NOT NULL,
    n            INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    data         BLOB NOT NULL,
    replaced_at  REAL NOT NULL
);
CREATE INDEX old_states_thread ON old_states (thread);
