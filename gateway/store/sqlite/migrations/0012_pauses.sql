-- What is known after a pause.
ALTER TABLE inbox ADD COLUMN missed INTEGER NOT NULL DEFAULT 0;  -- 1: sent while Parley was away, taken after it, 2: several such, taken as one by an earlier version
UPDATE inbox SET missed = 2 WHERE id IN
 (SELECT inbox FROM dedupe WHERE key LIKE '%/create/%' GROUP BY inbox HAVING COUNT(*) > 1);

CREATE TABLE gaps (                             -- work list: times of which it is not known what was said in a conversation
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    platform  TEXT NOT NULL,
    workspace TEXT NOT NULL,
    place     TEXT NOT NULL,                    -- ConversationKey; without a root a channel, without a channel a list of them
    threaded  INTEGER NOT NULL,                 -- 1: a thread's, the place has a root
    begun     INTEGER NOT NULL DEFAULT 0,       -- 1: a page of it was read; a further gap is a row of its own then
    since     REAL NOT NULL,                    -- everything is known up to here
    until     REAL NOT NULL,                    -- and from here on
    returned  REAL NOT NULL,                    -- when Parley came back: the age of what was missed is that of then
    newest    REAL NOT NULL,                    -- of what is left, as far as is known; the newest is read first
    cursor    TEXT NOT NULL DEFAULT '',         -- the adapter's: how far it was read
    UNIQUE (platform, place, begun)
);
CREATE INDEX gaps_next ON gaps (platform, workspace, threaded, newest);

CREATE TABLE missed (                           -- messages found after the pauses of about a week
    platform TEXT NOT NULL,
    verdict  TEXT NOT NULL,                     -- answer | offer | too_old
    n        INTEGER NOT NULL,
    since    REAL NOT NULL,                     -- the return from the first of these pauses
    PRIMARY KEY (platform, verdict)
) WITHOUT ROWID;

-- What is known after damage, and after a restore.
CREATE TABLE commits (                          -- one row, which every transaction changes
    n    INTEGER NOT NULL,                      -- transactions so far; the file `commits` beside the store has it, too
    at   REAL NOT NULL                          -- of the last one
);
INSERT INTO commits SELECT 0, COALESCE(MAX(updated_at), 0) FROM threads;

CREATE TABLE losses (                           -- times of which the store knows nothing, though Parley worked
    id      INTEGER PRIMARY KEY,
    cause   TEXT NOT NULL,                      -- restored: a backup took its place | damaged: its newest commits are gone
    since   REAL NOT NULL,                      -- of the last transaction that is there
    until   REAL NOT NULL,                      -- when this was noticed
    commits INTEGER NOT NULL,                   -- transactions that are known to be missing
    told    INTEGER NOT NULL DEFAULT 0          -- the threads with unfinished work know
);
ALTER TABLE deliveries ADD COLUMN doubtful INTEGER NOT NULL DEFAULT 0;  -- up to this seq all may stand there, unknown to the outbox
ALTER TABLE deliveries ADD COLUMN doubtful_since REAL NOT NULL DEFAULT 0;  -- since the loss that made it unknown

CREATE TABLE deleted (                          -- messages that a platform may still bring, and that must not come back
    key TEXT PRIMARY KEY,                       -- as in dedupe
    at  REAL NOT NULL                           -- when it was last heard of; kept for a week
) WITHOUT ROWID;
CREATE INDEX deleted_at ON deleted (at);

CREATE TABLE forgotten (                        -- conversations of which a thread was deleted
    conversation TEXT PRIMARY KEY,              -- ConversationKey
    order_key    TEXT NOT NULL,                 -- of the last message deleted: the platform's history counts behind it alone
    at           REAL NOT NULL                  -- when the thread was last used
) WITHOUT ROWID;
CREATE INDEX forgotten_at ON forgotten (at);

CREATE TABLE early_edits (                      -- edits that came before their messages; kept for a week
    key       TEXT PRIMARY KEY,                 -- of the message, as in dedupe
    thread    TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    author    TEXT NOT NULL,
    order_key TEXT NOT NULL,                    -- of the edit
    text      TEXT NOT NULL,
    quotes    TEXT NOT NULL,
    at        REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX early_edits_thread ON early_edits (thread);
CREATE INDEX early_edits_at ON early_edits (at);
