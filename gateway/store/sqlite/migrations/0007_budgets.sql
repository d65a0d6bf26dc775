-- What turns used, counted against budgets.

CREATE TABLE usage (                            -- a row per turn and model
    thread            TEXT NOT NULL,            -- '' once it was deleted
    turn              TEXT NOT NULL,
    model             TEXT NOT NULL,
    person            TEXT NOT NULL,            -- who asked; '' once they were deleted
    team              TEXT NOT NULL,
    workspace         TEXT NOT NULL,            -- platform:id
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost              REAL NOT NULL,
    turns             INTEGER NOT NULL,         -- 1 in the first row of each turn
    at                REAL NOT NULL,            -- when it was first used
    PRIMARY KEY (thread, turn, model)
) WITHOUT ROWID;
CREATE INDEX usage_people ON usage (person, at);
CREATE INDEX usage_at ON usage (at);

-- The order in which what waits is taken, and whose turns run: looked at with every message.
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (thread, place, order_key, id) WHERE outcome = 'queued';
CREATE INDEX turns_running ON turns (author) WHERE status = 'running';
