-- Figures over all threads, kept as rows change: nobody counts rows to show them.
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
CREATE INDEX outbox_waiting ON outbox (first_at) WHERE status IN ('pending', 'attempting');

CREATE TRIGGER threads_counted AFTER INSERT ON threads BEGIN
    INSERT INTO tallies VALUES ('threads', NEW.state, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER threads_recounted AFTER UPDATE OF state ON threads WHEN OLD.state <> NEW.state BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'threads' AND value = OLD.state;
    INSERT INTO tallies VALUES ('threads', NEW.state, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER threads_uncounted AFTER DELETE ON threads BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'threads' AND value = OLD.state;
END;
CREATE TRIGGER inbox_counted AFTER INSERT ON inbox BEGIN
    INSERT INTO tallies VALUES ('inbox', NEW.outcome, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_recounted AFTER UPDATE OF outcome ON inbox WHEN OLD.outcome <> NEW.outcome BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'inbox' AND value = OLD.outcome;
    INSERT INTO tallies VALUES ('inbox', NEW.outcome, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER inbox_uncounted AFTER DELETE ON inbox BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'inbox' AND value = OLD.outcome;
END;
CREATE TRIGGER requests_counted AFTER INSERT ON requests BEGIN
    INSERT INTO tallies VALUES ('requests', NEW.state, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER requests_recounted AFTER UPDATE OF state ON requests WHEN OLD.state <> NEW.state BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'requests' AND value = OLD.state;
    INSERT INTO tallies VALUES ('requests', NEW.state, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER requests_uncounted AFTER DELETE ON requests BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'requests' AND value = OLD.state;
END;
CREATE TRIGGER outbox_counted AFTER INSERT ON outbox BEGIN
    INSERT INTO tallies VALUES ('outbox', NEW.status, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER outbox_recounted AFTER UPDATE OF status ON outbox WHEN OLD.status <> NEW.status BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'outbox' AND value = OLD.status;
    INSERT INTO tallies VALUES ('outbox', NEW.status, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER outbox_uncounted AFTER DELETE ON outbox BEGIN
    UPDATE tallies SET n = n - 1 WHERE name = 'outbox' AND value = OLD.status;
END;
CREATE TRIGGER inbox_refusal_counted AFTER INSERT ON inbox WHEN NEW.outcome = 'refused' BEGIN
    INSERT INTO tallies VALUES ('refused', NEW.reason, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
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
    INSERT INTO tallies VALUES ('unread', NEW.platform, 1)
     ON CONFLICT (name, value) DO UPDATE SET n = n + 1;
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

INSERT INTO tallies SELECT 'threads', state, COUNT(*) FROM threads GROUP BY state;
INSERT INTO tallies SELECT 'inbox', outcome, COUNT(*) FROM inbox GROUP BY outcome;
INSERT INTO tallies SELECT 'requests', state, COUNT(*) FROM requests GROUP BY state;
INSERT INTO tallies SELECT 'outbox', status, COUNT(*) FROM outbox GROUP BY status;
INSERT INTO tallies SELECT 'refused', reason, COUNT(*) FROM inbox WHERE outcome = 'refused' GROUP BY reason;
INSERT INTO tallies SELECT 'feedback', CASE WHEN good THEN 'good' ELSE 'bad' END, COUNT(*) FROM feedback GROUP BY good;
INSERT INTO tallies SELECT 'unread', platform, COUNT(DISTINCT place) FROM gaps GROUP BY platform;
INSERT INTO used_days SELECT CAST(at / 86400 AS INTEGER), SUM(prompt_tokens + completion_tokens), SUM(cost) FROM usage GROUP BY 1;
