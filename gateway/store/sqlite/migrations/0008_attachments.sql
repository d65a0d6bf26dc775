-- Attachments by the hash of their contents: each file is stored once, and goes with the last message it came with.
-- Files that agents made: how far they were told.

CREATE TABLE blobs (
    sha256 TEXT NOT NULL UNIQUE,
    data   BLOB NOT NULL
);
INSERT INTO blobs (sha256, data) SELECT sha256, data FROM attachments GROUP BY sha256;

CREATE TABLE new_attachments (
    inbox      INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES blobs (sha256),
    size       INTEGER NOT NULL,                -- in bytes
    thread     TEXT NOT NULL,
    UNIQUE (inbox, n)
);
INSERT INTO new_attachments (inbox, n, name, media_type, sha256, size, thread)
 SELECT a.inbox, a.n, a.name, a.media_type, a.sha256, length(a.data), COALESCE(i.thread, '')
 FROM attachments a JOIN inbox i ON i.id = a.inbox;
DROP TABLE attachments;
ALTER TABLE new_attachments RENAME TO attachments;
CREATE INDEX attachments_sha256 ON attachments (sha256);

ALTER TABLE threads ADD COLUMN attached INTEGER NOT NULL DEFAULT 0;  -- bytes of its attachments
UPDATE threads SET attached =
 (SELECT COALESCE(SUM(size), 0) FROM attachments WHERE thread = threads.id);

ALTER TABLE threads ADD COLUMN files_at INTEGER NOT NULL DEFAULT 0;  -- ns: newest change of a file that was told

CREATE TRIGGER attachments_added AFTER INSERT ON attachments BEGIN
    UPDATE threads SET attached = attached + NEW.size WHERE id = NEW.thread;
END;
CREATE TRIGGER attachments_removed AFTER DELETE ON attachments BEGIN
    UPDATE threads SET attached = attached - OLD.size WHERE id = OLD.thread;
    DELETE FROM blobs WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256);
END;
