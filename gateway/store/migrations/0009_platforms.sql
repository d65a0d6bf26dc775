-- What platforms keep for themselves: people's feedback, marks of what was read.

CREATE TABLE marks (                            -- what an adapter keeps from one run to the next
    platform TEXT NOT NULL,
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (platform, name)
) WITHOUT ROWID;
