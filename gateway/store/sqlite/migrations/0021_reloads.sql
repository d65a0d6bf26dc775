-- Reloads of the config by several nodes. A store of files has one: both tables stay empty there.

CREATE TABLE reloads (
    id       TEXT PRIMARY KEY,
    digest   TEXT NOT NULL,                 -- of the config's text
    proposer TEXT NOT NULL,                 -- its boot
    source   TEXT NOT NULL,                 -- the config's file, for the audit
    changes  TEXT NOT NULL,                 -- names of changed settings, for the audit
    dry      INTEGER NOT NULL,              -- nodes are only asked
    state    TEXT NOT NULL DEFAULT 'open',  -- then 'go', 'off', or 'tried'
    missing  TEXT NOT NULL DEFAULT '[]',    -- JSON: names of nodes that have not answered in time
    at       REAL NOT NULL                  -- by the database's clock
);

CREATE TABLE reload_votes (
    reload  TEXT NOT NULL REFERENCES reloads (id) ON DELETE CASCADE,
    boot    TEXT NOT NULL,
    name    TEXT NOT NULL,
    refusal TEXT NOT NULL,                  -- '' for yes
    PRIMARY KEY (reload, boot)
);
