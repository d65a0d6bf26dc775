-- Nodes of a store that several processes share. A store of files has one owner: both tables stay empty there.

CREATE TABLE nodes (
    boot      TEXT PRIMARY KEY,
    name      TEXT NOT NULL,
    version   TEXT NOT NULL,
    platforms TEXT NOT NULL DEFAULT '[]',      -- JSON: the platforms that it tells what happens
    figures   TEXT NOT NULL DEFAULT '{}',      -- JSON: its load, for `parley status`
    since     REAL NOT NULL,
    beat      REAL NOT NULL,                   -- by the database's clock
    patience  REAL NOT NULL,                   -- seconds without a beat after which it is dead
    draining  INTEGER NOT NULL DEFAULT FALSE
);

CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL                       -- the boot; a lease of one that is gone is free
);

CREATE INDEX threads_owner ON threads (owner);

-- Messages that began a turn once more count among the turns of who wrote them.
CREATE INDEX inbox_again ON inbox (author, taken_at) WHERE outcome = 'command' AND turn IS NOT NULL;
