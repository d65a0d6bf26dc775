-- What teams remember beyond a thread.
CREATE TABLE memos (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    call   TEXT NOT NULL UNIQUE,                -- key of the tool call that wrote it: repeated, it adds nothing
    team   TEXT NOT NULL,
    scope  TEXT NOT NULL,                       -- thread | person | team | workspace
    key    TEXT NOT NULL,                       -- in the scope: the thread, the person, '', or platform:workspace
    person TEXT NOT NULL,                       -- on whose behalf it was written; they may delete it
    name   TEXT NOT NULL,
    thread TEXT                                 -- of scope "thread": it goes with it
        REFERENCES threads (id) ON DELETE CASCADE,
    text   TEXT NOT NULL,
    at     REAL NOT NULL
);
CREATE INDEX memos_place ON memos (team, scope, key);
CREATE INDEX memos_person ON memos (person);
CREATE INDEX memos_thread ON memos (thread) WHERE thread IS NOT NULL;
CREATE INDEX memos_at ON memos (at);
