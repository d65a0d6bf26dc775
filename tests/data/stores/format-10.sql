-- The tables with which stores began before format 26: a table's first page is where it is in a new one of these.
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
    updated_at   REAL NOT NULL,
    participants TEXT NOT NULL DEFAULT '[]',    -- of its team; empty: not known
    attached     INTEGER NOT NULL DEFAULT 0,    -- bytes of its attachments
    files_at     INTEGER NOT NULL DEFAULT 0     -- ns: newest change of a file that was told
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
CREATE INDEX turns_people ON turns (author, started_at);
CREATE INDEX turns_running ON turns (author) WHERE status = 'running';

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
    received_at  REAL NOT NULL,
    author_kind  TEXT NOT NULL DEFAULT 'member',  -- member | guest | external | bot
    author_groups TEXT NOT NULL DEFAULT '[]',   -- roles and groups when it was said
    quotes       TEXT NOT NULL DEFAULT '[]',    -- foreign text that came with it
    untrusted    INTEGER NOT NULL DEFAULT 0,    -- it came with foreign text or files
    place        INTEGER NOT NULL DEFAULT 0,    -- below 0: taken before its order
    taken_at     REAL,                          -- when it became part of a turn
    joined       INTEGER NOT NULL DEFAULT 0,    -- the team's saved state holds it
    edits        INTEGER                        -- the message that this one changes or repeats
        REFERENCES inbox (id) ON DELETE CASCADE,
    awaits       TEXT,                          -- JSON: what its files are fetched by; NULL once they are here or given up
    awaits_until REAL                           -- when its turn begins without them
);
-- The order in which what waits is taken: looked at with every message.
CREATE INDEX inbox_waiting ON inbox (thread, place, order_key, id) WHERE outcome = 'queued';
CREATE INDEX inbox_order ON inbox (thread, order_key);
CREATE INDEX inbox_people ON inbox (thread, author) WHERE outcome <> 'refused';
CREATE INDEX inbox_turn ON inbox (turn);
CREATE INDEX inbox_refused ON inbox (conversation, author, received_at) WHERE outcome = 'refused';
CREATE INDEX inbox_bots ON inbox (conversation, received_at) WHERE author_kind = 'bot';
CREATE INDEX inbox_queued ON inbox (author) WHERE outcome = 'queued';
CREATE INDEX inbox_untrusted ON inbox (thread, taken_at) WHERE untrusted;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id <> '' AND kind <> 'command';
CREATE INDEX inbox_edits ON inbox (edits) WHERE edits IS NOT NULL;
CREATE INDEX inbox_awaits ON inbox (id) WHERE awaits IS NOT NULL;

CREATE TABLE dedupe (
    key   TEXT PRIMARY KEY,
    inbox INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX dedupe_inbox ON dedupe (inbox);

-- Attachments by the hash of their contents: each file is stored once, and goes with the last message it came with.
CREATE TABLE blobs (
    sha256 TEXT NOT NULL UNIQUE,
    data   BLOB NOT NULL
);

CREATE TABLE attachments (
    inbox      INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES blobs (sha256),
    size       INTEGER NOT NULL,                -- in bytes
    thread     TEXT NOT NULL,
    UNIQUE (inbox, n)
);
CREATE INDEX attachments_sha256 ON attachments (sha256);
CREATE TRIGGER attachments_added AFTER INSERT ON attachments BEGIN
    UPDATE threads SET attached = attached + NEW.size WHERE id = NEW.thread;
END;
CREATE TRIGGER attachments_removed AFTER DELETE ON attachments BEGIN
    UPDATE threads SET attached = attached - OLD.size WHERE id = OLD.thread;
    DELETE FROM blobs WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256);
END;

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

CREATE TABLE old_states (                       -- checkpoints of teams that another one replaced
    thread       TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    definition   TEXT NOT NULL,
    n            INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    data         BLOB NOT NULL,
    replaced_at  REAL NOT NULL
);
CREATE INDEX old_states_thread ON old_states (thread);

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
    approvers      TEXT NOT NULL DEFAULT '[]',  -- who may decide; empty: the operators
    always         INTEGER NOT NULL DEFAULT 1,  -- may be approved for the whole thread
    quorum         INTEGER NOT NULL DEFAULT 1,  -- people who have to approve
    reminders      INTEGER NOT NULL DEFAULT 0,  -- sent so far
    due_at         REAL,                        -- when to remind or to expire next
    UNIQUE (turn, engine_id)
);
CREATE INDEX requests_open ON requests (thread) WHERE state = 'open';
CREATE INDEX requests_thread ON requests (thread);
CREATE INDEX requests_due ON requests (due_at) WHERE state = 'open' AND due_at IS NOT NULL;

CREATE TABLE supports (                         -- approvals of requests that need several
    request TEXT NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    person  TEXT NOT NULL,
    always  INTEGER NOT NULL,                   -- for the rest of the thread, as far as it goes by them
    at      REAL NOT NULL,
    UNIQUE (request, person)
);

CREATE TABLE grants (                           -- approved for the rest of a thread
    thread     TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    tool       TEXT NOT NULL,
    person     TEXT NOT NULL,                   -- on whose behalf the tool may run
    granted_by TEXT NOT NULL,
    granted_at REAL NOT NULL,
    UNIQUE (thread, tool, person)
);

CREATE TABLE audit (                            -- who decided what; rows are only ever added
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    thread         TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    at             REAL NOT NULL,
    person         TEXT NOT NULL,               -- Author.id; empty: the gateway itself
    what           TEXT NOT NULL,               -- asked | supported | answered | expired | closed | revoked
    request        TEXT NOT NULL DEFAULT '',
    kind           TEXT NOT NULL DEFAULT '',    -- of the request
    tool           TEXT NOT NULL DEFAULT '',
    arguments_hash TEXT NOT NULL DEFAULT '',
    outcome        TEXT NOT NULL DEFAULT '',    -- for people; not what they answered in words
    place          TEXT NOT NULL DEFAULT ''     -- ConversationKey from which it was decided
);
CREATE INDEX audit_thread ON audit (thread);
CREATE INDEX audit_person ON audit (person);

CREATE TABLE people (                           -- let in by an operator with a code
    person    TEXT PRIMARY KEY,
    name      TEXT NOT NULL,
    paired_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE pairing_codes (                    -- one-time codes that wait for an operator
    person     TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    salt       BLOB NOT NULL,
    hash       BLOB NOT NULL,
    tries      INTEGER NOT NULL DEFAULT 0,      -- wrong codes given while this one was open
    expires_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE tokens (                           -- encrypted; key_id names the key
    name       TEXT PRIMARY KEY,
    key_id     TEXT NOT NULL,
    value      BLOB NOT NULL,
    updated_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE usage (                            -- used by turns, counted against budgets: a row per turn and model
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

-- What stands on the platforms that show threads as messages. No text is kept here, only hashes.

CREATE TABLE deliveries (
    thread TEXT PRIMARY KEY REFERENCES threads (id) ON DELETE CASCADE,
    told   INTEGER NOT NULL DEFAULT 0,  -- every event up to this seq is on the platform, or given up
    gone   TEXT NOT NULL DEFAULT ''     -- why nothing can be written there any more; '' while it can
) WITHOUT ROWID;

CREATE TABLE outbox (                   -- one row per message of a platform
    key        TEXT PRIMARY KEY,        -- the same at every try, unique for ever
    thread     TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    place      TEXT NOT NULL,           -- ConversationKey
    item       TEXT NOT NULL,           -- what of the thread it is a part of
    n          INTEGER NOT NULL,        -- and which part of that
    seq        INTEGER NOT NULL,        -- of the event that the item began with
    status     TEXT NOT NULL,           -- pending | attempting | delivered | failed
    message    TEXT NOT NULL DEFAULT '',   -- the platform's id of it
    first      INTEGER NOT NULL DEFAULT 0, -- its text is that of the item from here
    last       INTEGER NOT NULL DEFAULT 0, -- to here
    body       TEXT NOT NULL DEFAULT '',   -- hash of that text
    digest     TEXT NOT NULL DEFAULT '',   -- hash of all that stands there
    closed     INTEGER NOT NULL DEFAULT 0, -- the platform takes no change of it any more
    open       INTEGER NOT NULL DEFAULT 0, -- a question that nobody has answered
    unsure     INTEGER NOT NULL DEFAULT 0, -- it may stand there twice, and says so
    generation INTEGER NOT NULL DEFAULT 0, -- how often it had to be written anew
    attempts   INTEGER NOT NULL DEFAULT 0,
    reason     TEXT NOT NULL DEFAULT '',   -- why it failed, or is not there yet
    first_at   REAL NOT NULL,              -- of the first attempt
    at         REAL NOT NULL               -- of the last one
) WITHOUT ROWID;
CREATE INDEX outbox_thread ON outbox (thread, item, n);

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
