-- What an approval for the rest of a thread covers, and what a card shows.
CREATE TABLE scoped_grants (                    -- approved for the rest of a thread
    thread     TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    tool       TEXT NOT NULL,
    person     TEXT NOT NULL,                   -- on whose behalf the tool may run
    scope      TEXT NOT NULL DEFAULT '',        -- empty: any arguments | same:HASH | below:[[argument, folder], ...]
    granted_by TEXT NOT NULL,
    granted_at REAL NOT NULL,
    UNIQUE (thread, tool, person, scope)
);
INSERT INTO scoped_grants (thread, tool, person, granted_by, granted_at)
 SELECT thread, tool, person, granted_by, granted_at FROM grants;
DROP TABLE grants;
ALTER TABLE scoped_grants RENAME TO grants;

ALTER TABLE requests ADD COLUMN below TEXT NOT NULL DEFAULT '[]';  -- folders that may be approved for the thread: [[argument, folder], ...]
ALTER TABLE requests ADD COLUMN diff TEXT NOT NULL DEFAULT '';     -- ArgumentDiff as JSON; empty: none
ALTER TABLE supports ADD COLUMN kind TEXT NOT NULL DEFAULT 'approve_always';  -- of the approval, if `always`
