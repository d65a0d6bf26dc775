-- Shares of nodes in what all of them have together. A crash of the database may empty `rates`, so drawing waits for no disk.

CREATE UNLOGGED TABLE rates (
    name    TEXT COLLATE "C" PRIMARY KEY,
    full_at DOUBLE PRECISION NOT NULL,
    seen    DOUBLE PRECISION NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE budget_shares (
    budget TEXT COLLATE "C" NOT NULL,
    boot   TEXT COLLATE "C" NOT NULL REFERENCES nodes (boot) ON DELETE CASCADE,
    tokens BIGINT NOT NULL,
    cost   DOUBLE PRECISION NOT NULL,
    turns  BIGINT NOT NULL,
    PRIMARY KEY (budget, boot)
) WITH (fillfactor = 50);
CREATE INDEX budget_shares_boot ON budget_shares (boot);
