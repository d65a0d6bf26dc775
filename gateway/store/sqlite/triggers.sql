-- Tables and triggers of SQLite alone, after ../schema.sql: figures over all threads, kept as rows change (nobody counts
-- rows to show them), and threads whose words are no longer those of the index.

CREATE TABLE commits (                          -- one row, which every transaction changes
    n    INTEGER NOT NULL,                      -- transactions so far; the file `commits` beside the store has it, too
    at   REAL NOT NULL                          -- of the last one
);
INSERT INTO commits VALUES (0, 0);

CREATE TABLE tallies (
    name  TEXT NOT NULL,                        -- the table, "refused", "feedback" or "unread"
    value TEXT NOT NULL,                        -- the rows' state, outcome, status, reason, verdict or platform
    n     INTEGER NOT NULL,
    PRIMARY KEY (name, value)
) WITHOUT ROWID;

CREATE TABLE used_days (                        -- what models have used, by the day in UTC
    day    INTEGER PRIMARY KEY,                 -- days since the epoch
    tokens INTEGER NOT NULL,
    cost   REAL NOT NULL
);

CREATE TRIGGER attachments_added AFTER INSERT ON attachments BEGIN
    UPDATE threads SET attached = attached + NEW.size WHERE id = NEW.thread;
END;
CREATE TRIGGER attachments_removed AFTER DELETE ON attachments BEGIN
    UPDATE threads SET attached = attached - OLD.size WHERE id = OLD.thread;
    DELETE FROM blobs WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256);
END;
CREATE TRIGGER threads_counted AFTER INSERT ON threads BEGIN
    INSERT INTO tallies VALUES ('threads', NEW.state, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER threads_recounted AFTER UPDATE OF state ON threads WHEN OLD.state <> NEW.state BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'threads' AND value = OLD.state;
    INSERT INTO tallies VALUES ('threads', NEW.state, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER threads_uncounted AFTER DELETE ON threads BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'threads' AND value = OLD.state;
END;
CREATE TRIGGER inbox_counted AFTER INSERT ON inbox BEGIN
    INSERT INTO tallies VALUES ('inbox', NEW.outcome, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_recounted AFTER UPDATE OF outcome ON inbox WHEN OLD.outcome <> NEW.outcome BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'inbox' AND value = OLD.outcome;
    INSERT INTO tallies VALUES ('inbox', NEW.outcome, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_uncounted AFTER DELETE ON inbox BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'inbox' AND value = OLD.outcome;
END;
CREATE TRIGGER requests_counted AFTER INSERT ON requests BEGIN
    INSERT INTO tallies VALUES ('requests', NEW.state, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER requests_recounted AFTER UPDATE OF state ON requests WHEN OLD.state <> NEW.state BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'requests' AND value = OLD.state;
    INSERT INTO tallies VALUES ('requests', NEW.state, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER requests_uncounted AFTER DELETE ON requests BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'requests' AND value = OLD.state;
END;
CREATE TRIGGER outbox_counted AFTER INSERT ON outbox BEGIN
    INSERT INTO tallies VALUES ('outbox', NEW.status, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER outbox_recounted AFTER UPDATE OF status ON outbox WHEN OLD.status <> NEW.status BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'outbox' AND value = OLD.status;
    INSERT INTO tallies VALUES ('outbox', NEW.status, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER outbox_uncounted AFTER DELETE ON outbox BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'outbox' AND value = OLD.status;
END;
CREATE TRIGGER inbox_refusal_counted AFTER INSERT ON inbox WHEN NEW.outcome = 'refused' BEGIN
    INSERT INTO tallies VALUES ('refused', NEW.reason, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_refusal_recounted AFTER UPDATE OF outcome, reason ON inbox WHEN 'refused' IN (OLD.outcome, NEW.outcome) BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'refused' AND value = OLD.reason AND OLD.outcome = 'refused';
    INSERT INTO tallies SELECT 'refused', NEW.reason, 1 WHERE NEW.outcome = 'refused'
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_refusal_uncounted AFTER DELETE ON inbox WHEN OLD.outcome = 'refused' BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'refused' AND value = OLD.reason;
END;
CREATE TRIGGER feedback_counted AFTER INSERT ON feedback BEGIN
    INSERT INTO tallies VALUES ('feedback', CASE WHEN NEW.good THEN 'good' ELSE 'bad' END, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER feedback_recounted AFTER UPDATE OF good ON feedback WHEN OLD.good <> NEW.good BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'feedback' AND value = CASE WHEN OLD.good THEN 'good' ELSE 'bad' END;
    INSERT INTO tallies VALUES ('feedback', CASE WHEN NEW.good THEN 'good' ELSE 'bad' END, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER feedback_uncounted AFTER DELETE ON feedback BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'feedback' AND value = CASE WHEN OLD.good THEN 'good' ELSE 'bad' END;
END;
CREATE TRIGGER gaps_counted AFTER INSERT ON gaps
 WHEN 1 = (SELECT COUNT(*) FROM gaps WHERE platform = NEW.platform AND place = NEW.place) BEGIN
    INSERT INTO tallies VALUES ('unread', NEW.platform, 1) ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER gaps_uncounted AFTER DELETE ON gaps
 WHEN NOT EXISTS (SELECT 1 FROM gaps WHERE platform = OLD.platform AND place = OLD.place) BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'unread' AND value = OLD.platform;
END;
CREATE TRIGGER usage_counted AFTER INSERT ON usage BEGIN
    INSERT INTO used_days VALUES (CAST(NEW.at / 86400 AS INTEGER), (NEW.prompt_tokens + NEW.completion_tokens), NEW.cost)
     ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
END;
CREATE TRIGGER usage_recounted AFTER UPDATE OF at, prompt_tokens, completion_tokens, cost ON usage BEGIN
    INSERT INTO used_days VALUES (CAST(OLD.at / 86400 AS INTEGER), -(OLD.prompt_tokens + OLD.completion_tokens), -OLD.cost)
     ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
    INSERT INTO used_days VALUES (CAST(NEW.at / 86400 AS INTEGER), (NEW.prompt_tokens + NEW.completion_tokens), NEW.cost)
     ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
END;
CREATE TRIGGER usage_uncounted AFTER DELETE ON usage BEGIN
    INSERT INTO used_days VALUES (CAST(OLD.at / 86400 AS INTEGER), -(OLD.prompt_tokens + OLD.completion_tokens), -OLD.cost)
     ON CONFLICT (day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
END;
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
