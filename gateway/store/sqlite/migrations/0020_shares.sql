-- Shares of nodes in what all of them have together. Names are hashes: nobody is to be found by them.

CREATE TABLE rates (
    name    TEXT PRIMARY KEY,
    full_at REAL NOT NULL,                     -- when its bucket is full, unless more is drawn
    seen    REAL NOT NULL                      -- when it was last drawn from; both by the database's clock
) WITHOUT ROWID;

CREATE TABLE budget_shares (                   -- what a node may use, and what its usage rows do not have yet
    budget TEXT NOT NULL,
    boot   TEXT NOT NULL REFERENCES nodes (boot) ON DELETE CASCADE,
    tokens INTEGER NOT NULL,
    cost   REAL NOT NULL,
    turns  INTEGER NOT NULL,
    PRIMARY KEY (budget, boot)
) WITHOUT ROWID;
CREATE INDEX budget_shares_boot ON budget_shares (boot);
