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
