-- The words of each thread's title and texts, for searches: plain rows, which go with their thread. A full-text index of
-- SQLite's would keep the words of deleted rows. A slice is of 128 threads, so that new words are written side by side.
CREATE TABLE word_threads (
    slice  INTEGER NOT NULL,
    word   TEXT NOT NULL,
    thread INTEGER NOT NULL,                    -- its number
    PRIMARY KEY (slice, word, thread)
) WITHOUT ROWID;
CREATE TABLE searched (                         -- threads whose words are known, up to a message and an event
    number INTEGER PRIMARY KEY,
    thread TEXT NOT NULL UNIQUE REFERENCES threads (id) ON DELETE CASCADE,
    inbox  INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    words  TEXT NOT NULL                        -- as JSON
);
CREATE TABLE unsearched (                       -- threads with texts whose words are not known yet
    thread TEXT NOT NULL UNIQUE REFERENCES threads (id) ON DELETE CASCADE
);

ALTER TABLE threads ADD COLUMN number INTEGER;  -- among those that were searched once
CREATE UNIQUE INDEX threads_number ON threads (number);
DROP INDEX threads_updated;
CREATE INDEX threads_updated ON threads (updated_at, number);

CREATE TRIGGER searched_removed AFTER DELETE ON searched BEGIN
    DELETE FROM word_threads WHERE slice = OLD.number / 128 AND thread = OLD.number
     AND word IN (SELECT value FROM json_each(OLD.words));
END;
CREATE TRIGGER threads_titled AFTER INSERT ON threads WHEN NEW.title <> '' BEGIN
    INSERT OR IGNORE INTO unsearched VALUES (NEW.id);
END;
CREATE TRIGGER threads_renamed AFTER UPDATE OF title ON threads BEGIN
    DELETE FROM searched WHERE thread = NEW.id;
    INSERT OR IGNORE INTO unsearched VALUES (NEW.id);
END;
CREATE TRIGGER inbox_said AFTER INSERT ON inbox WHEN NEW.text <> '' AND NEW.thread IS NOT NULL BEGIN
    INSERT OR IGNORE INTO unsearched VALUES (NEW.thread);
END;
CREATE TRIGGER inbox_changed AFTER UPDATE OF text ON inbox WHEN OLD.text IS NOT NEW.text AND NEW.thread IS NOT NULL BEGIN
    DELETE FROM searched WHERE thread = NEW.thread AND inbox >= NEW.id;
    INSERT OR IGNORE INTO unsearched VALUES (NEW.thread);
END;
CREATE TRIGGER inbox_removed AFTER DELETE ON inbox WHEN OLD.text <> '' BEGIN
    DELETE FROM searched WHERE thread = OLD.thread AND inbox >= OLD.id;
    INSERT OR IGNORE INTO unsearched SELECT id FROM threads WHERE id = OLD.thread;
END;
CREATE TRIGGER events_said AFTER INSERT ON events WHEN NEW.kind = 'message_finished' BEGIN
    INSERT OR IGNORE INTO unsearched VALUES (NEW.thread);
END;

INSERT INTO unsearched SELECT id FROM threads ORDER BY updated_at DESC;
