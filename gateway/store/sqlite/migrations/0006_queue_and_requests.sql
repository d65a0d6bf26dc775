-- Modes of a thread's queue, changes of messages on the platform, and the life of requests.

ALTER TABLE inbox ADD COLUMN place INTEGER NOT NULL DEFAULT 0;           -- below 0: taken before its order
ALTER TABLE inbox ADD COLUMN taken_at REAL;                              -- when it became part of a turn
ALTER TABLE inbox ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;          -- the team's saved state holds it
ALTER TABLE inbox ADD COLUMN edits INTEGER                               -- the message that this one changes or repeats
    REFERENCES inbox (id) ON DELETE CASCADE;
CREATE INDEX inbox_message ON inbox (message_id) WHERE message_id <> '' AND kind <> 'command';
CREATE INDEX inbox_edits ON inbox (edits) WHERE edits IS NOT NULL;
UPDATE inbox SET taken_at = received_at WHERE outcome = 'turn';
UPDATE inbox SET joined = 1 WHERE turn IN (SELECT id FROM turns WHERE delivered);
DROP INDEX inbox_untrusted;
CREATE INDEX inbox_untrusted ON inbox (thread, taken_at) WHERE untrusted;

ALTER TABLE requests ADD COLUMN quorum INTEGER NOT NULL DEFAULT 1;       -- people who have to approve
ALTER TABLE requests ADD COLUMN reminders INTEGER NOT NULL DEFAULT 0;    -- sent so far
ALTER TABLE requests ADD COLUMN due_at REAL;                             -- when to remind or to expire next
CREATE INDEX requests_due ON requests (due_at) WHERE state = 'open' AND due_at IS NOT NULL;

CREATE TABLE supports (                         -- approvals of requests that need several
    request TEXT NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    person  TEXT NOT NULL,
    always  INTEGER NOT NULL,                   -- for the rest of the thread, as far as it goes by them
    at      REAL NOT NULL,
    UNIQUE (request, person)
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
