-- What platforms keep for themselves: people's feedback, marks of what was read.

CREATE TABLE marks (                            -- what an adapter keeps from one run to the next
    platform     TEXT NOT NULL,
    name         TEXT NOT NULL,
    value        TEXT NOT NULL,
    conversation TEXT,                          -- it goes with the last thread of this key
    PRIMARY KEY (platform, name)
) WITHOUT ROWID;

CREATE INDEX marks_conversation ON marks (conversation) WHERE conversation IS NOT NULL;

CREATE TABLE feedback (                         -- what people say about an answer
    part   TEXT NOT NULL,                       -- the key of what they say it about
    person TEXT NOT NULL,
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    good   INTEGER NOT NULL,
    at     REAL NOT NULL,
    PRIMARY KEY (part, person)
) WITHOUT ROWID;

CREATE INDEX feedback_thread ON feedback (thread);
