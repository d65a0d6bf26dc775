-- Who people are and what they may do, foreign text beside their own, platform tokens.

ALTER TABLE inbox ADD COLUMN author_kind TEXT NOT NULL DEFAULT 'member';  -- member | guest | external | bot
ALTER TABLE inbox ADD COLUMN author_groups TEXT NOT NULL DEFAULT '[]';    -- roles and groups when it was said
ALTER TABLE inbox ADD COLUMN quotes TEXT NOT NULL DEFAULT '[]';           -- foreign text that came with it
CREATE INDEX inbox_bots ON inbox (conversation, received_at) WHERE author_kind = 'bot';
CREATE INDEX inbox_queued ON inbox (author) WHERE outcome = 'queued';
CREATE INDEX turns_people ON turns (author, started_at);

ALTER TABLE requests ADD COLUMN approvers TEXT NOT NULL DEFAULT '[]';     -- who may decide; empty: the operators
ALTER TABLE requests ADD COLUMN always INTEGER NOT NULL DEFAULT 1;        -- may be approved for the whole thread

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
