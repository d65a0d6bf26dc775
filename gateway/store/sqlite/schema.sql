-- Version 1 of the store. Later versions are made by the numbered files in migrations/, never here.
-- Times are seconds since the epoch. Rows of events and checkpoints are only ever added.

CREATE TABLE threads (
    id           TEXT PRIMARY KEY,
    key          TEXT NOT NULL,                 -- ConversationKey
    current      INTEGER NOT NULL DEFAULT 1,    -- 0: /new gave the conversation another thread
    title        TEXT NOT NULL DEFAULT '',
    team         TEXT NOT NULL,
    definition   TEXT NOT NULL,                 -- hash of the team's definition
    mode         TEXT NOT NULL DEFAULT 'queue',
    state        TEXT NOT NULL DEFAULT 'idle',  -- idle | working | waiting | parked
    epoch        INTEGER NOT NULL DEFAULT 0,    -- one more at each claim; every write of a turn must know it
    owner        TEXT NOT NULL DEFAULT '',      -- the boot that claimed it last
    last_seq     INTEGER NOT NULL DEFAULT 0,    -- of its events
    preview      TEXT NOT NULL DEFAULT '',
    handoff_from TEXT NOT NULL DEFAULT '',      -- the agent that handed the work to the user
    created_at   REAL NOT NULL,
    updated_at   REAL NOT NULL
);
CREATE UNIQUE INDEX threads_current ON threads (key) WHERE current;
CREATE INDEX threads_updated ON threads (updated_at);

CREATE TABLE turns (
    id             TEXT PRIMARY KEY,
    thread         TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    n              INTEGER NOT NULL,
    status         TEXT NOT NULL,               -- running | paused | waiting | done | stopped | failed | interrupted
    author         TEXT NOT NULL DEFAULT '',    -- who asked
    destination    TEXT NOT NULL,               -- ConversationKey, fixed when the turn began
    attempts       INTEGER NOT NULL DEFAULT 0,  -- resumes after a crash, counted before they are tried
    delivered      INTEGER NOT NULL DEFAULT 0,  -- a checkpoint holds the task
    ready          INTEGER NOT NULL DEFAULT 0,  -- waiting, and an agent has all its answers
    stop_requested INTEGER NOT NULL DEFAULT 0,
    reason         TEXT NOT NULL DEFAULT '',
    started_at     REAL NOT NULL,
    finished_at    REAL,
    UNIQUE (thread, n)
);
CREATE UNIQUE INDEX turns_open ON turns (thread) WHERE status IN ('running', 'paused', 'waiting');

CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL,                 -- ConversationKey
    thread       TEXT REFERENCES threads (id) ON DELETE CASCADE,
    turn         TEXT REFERENCES turns (id) ON DELETE SET NULL,
    kind         TEXT NOT NULL,                 -- message | answer | command
    outcome      TEXT NOT NULL,                 -- queued, then exactly one of turn | answer | command | merged | refused
    reason       TEXT NOT NULL DEFAULT '',
    author       TEXT NOT NULL,
    author_name  TEXT NOT NULL,
    timezone     TEXT NOT NULL DEFAULT '',
    text         TEXT,                          -- NULL once refused
    reply        TEXT NOT NULL DEFAULT '',      -- what a command answered
    message_id   TEXT NOT NULL DEFAULT '',
    reply_to     TEXT NOT NULL DEFAULT '',
    link         TEXT NOT NULL DEFAULT '',
    order_key    TEXT NOT NULL DEFAULT '',
    straggler    INTEGER NOT NULL DEFAULT 0,    -- arrived after the turn of a later message had begun
    received_at  REAL NOT NULL
);
CREATE INDEX inbox_waiting ON inbox (thread, order_key, id) WHERE outcome = 'queued';
CREATE INDEX inbox_order ON inbox (thread, order_key);
CREATE INDEX inbox_people ON inbox (thread, author) WHERE outcome <> 'refused';
CREATE INDEX inbox_turn ON inbox (turn);
CREATE INDEX inbox_refused ON inbox (conversation, author, received_at) WHERE outcome = 'refused';

CREATE TABLE dedupe (
    key   TEXT PRIMARY KEY,
    inbox INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX dedupe_inbox ON dedupe (inbox);

CREATE TABLE attachments (
    inbox      INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    data       BLOB NOT NULL,
    UNIQUE (inbox, n)
);

CREATE TABLE events (
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    turn   TEXT NOT NULL DEFAULT '',
    kind   TEXT NOT NULL,
    body   BLOB NOT NULL,                       -- SessionEvent as JSON
    UNIQUE (thread, seq)
);

CREATE TABLE open_messages (                    -- text shown of messages that still grow
    thread  TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    turn    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    text    TEXT NOT NULL,
    UNIQUE (thread, message)
);

CREATE TABLE checkpoints (                      -- the team's state: a snapshot and the deltas after it
    thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    kind   TEXT NOT NULL,                       -- snapshot | delta
    data   BLOB NOT NULL,
    UNIQUE (thread, n)
);

CREATE TABLE tool_calls (
    key            TEXT PRIMARY KEY,            -- the engine's, unique for ever
    thread         TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn           TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    agent          TEXT NOT NULL,               -- path of names, as JSON
    tool           TEXT NOT NULL,
    arguments_hash TEXT NOT NULL,
    status         TEXT NOT NULL,               -- shown | started | suspended | finished | unknown
    result         TEXT,                        -- ToolResult as JSON
    started_at     REAL NOT NULL,
    finished_at    REAL
);
CREATE INDEX tool_calls_turn ON tool_calls (turn);
CREATE INDEX tool_calls_thread ON tool_calls (thread);

CREATE TABLE requests (                         -- what a team waits for a human to say
    id             TEXT PRIMARY KEY,            -- random; what buttons carry
    engine_id      TEXT NOT NULL,               -- under which the team asks again
    thread         TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    turn           TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL,               -- text | choice | approval
    agent          TEXT NOT NULL,               -- path of names, as JSON
    prompt         TEXT NOT NULL,
    options        TEXT NOT NULL DEFAULT '[]',
    tool           TEXT NOT NULL DEFAULT '',
    arguments_hash TEXT NOT NULL DEFAULT '',
    arguments      TEXT NOT NULL DEFAULT '',
    call           TEXT NOT NULL DEFAULT '',    -- key of the tool call that asks
    state          TEXT NOT NULL DEFAULT 'open',  -- open | answered | expired | closed
    answer_kind    TEXT NOT NULL DEFAULT '',    -- text | approve | approve_always | deny
    answer_text    TEXT NOT NULL DEFAULT '',
    answered_by    TEXT NOT NULL DEFAULT '',
    outcome        TEXT NOT NULL DEFAULT '',    -- for people
    taken          INTEGER NOT NULL DEFAULT 0,  -- the turn has gone on with the answer
    created_at     REAL NOT NULL,
    expires_at     REAL,
    resolved_at    REAL,
    UNIQUE (turn, engine_id)
);
CREATE INDEX requests_open ON requests (thread) WHERE state = 'open';
CREATE INDEX requests_thread ON requests (thread);

CREATE TABLE grants (                           -- approved for the rest of a thread
    thread     TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    tool       TEXT NOT NULL,
    person     TEXT NOT NULL,                   -- on whose behalf the tool may run
    granted_by TEXT NOT NULL,
    granted_at REAL NOT NULL,
    UNIQUE (thread, tool, person)
);
