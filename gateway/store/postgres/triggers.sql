-- Tables, functions and triggers of PostgreSQL alone, after ../schema.sql.

CREATE TABLE store (
    version BIGINT NOT NULL,
    made_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
INSERT INTO store (version) VALUES (0);

-- One row: the boot that owns the store. A new owner takes it while no transaction of another is open.
CREATE TABLE owner (
    boot  TEXT NOT NULL,
    name  TEXT NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT now()
);
INSERT INTO owner (boot, name) VALUES ('', '');

-- Functions of SQLite's that units use.

CREATE FUNCTION instr(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT strpos($1, $2)::bigint';

CREATE FUNCTION substr(text, bigint, bigint) RETURNS text LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT substr($1, $2::integer, $3::integer)';

CREATE FUNCTION substr(bytea, bigint, bigint) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT substr($1, $2::integer, $3::integer)';

CREATE FUNCTION json_array_length(text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
    AS 'SELECT json_array_length($1::json)::bigint';

-- The value of '$.NAME' as text. What JSON writes for a NUL character is not text to PostgreSQL.
CREATE FUNCTION json_extract(bytea, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
    AS $$ SELECT replace(convert_from($1, 'UTF8'), '\u0000', '\u2400')::json ->> substr($2, 3) $$;

CREATE FUNCTION json_valid(bytea) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    PERFORM convert_from($1, 'UTF8')::json;
    RETURN TRUE;
EXCEPTION WHEN data_exception THEN
    RETURN FALSE;
END $$;

CREATE FUNCTION json_of_texts(text[]) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT array_to_json($1)::text';
CREATE AGGREGATE json_group_array(text) (
    SFUNC = array_append, STYPE = text[], INITCOND = '{}', FINALFUNC = json_of_texts
);

-- Figures kept as rows change. A transaction holds what it counted until it ends, so each connection counts in a row
-- of its own, or nearly.

CREATE TABLE counted (
    stripe BIGINT NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    value  TEXT COLLATE "C" NOT NULL,
    n      BIGINT NOT NULL,
    PRIMARY KEY (name, value, stripe)
) WITH (fillfactor = 50);
CREATE VIEW tallies (name, value, n) AS SELECT name, value, SUM(n)::bigint FROM counted GROUP BY name, value;

CREATE TABLE used (
    stripe BIGINT NOT NULL,
    day    BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    cost   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (day, stripe)
) WITH (fillfactor = 50);
CREATE VIEW used_days (day, tokens, cost) AS SELECT day, SUM(tokens)::bigint, SUM(cost) FROM used GROUP BY day;

CREATE FUNCTION tally(named text, valued text, number bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO counted (stripe, name, value, n) VALUES (pg_backend_pid() % 256, named, valued, number)
     ON CONFLICT (name, value, stripe) DO UPDATE SET n = counted.n + excluded.n
$$;

CREATE FUNCTION tally_used(at double precision, number bigint, spent double precision) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO used (stripe, day, tokens, cost)
     VALUES (pg_backend_pid() % 256, trunc(at / 86400)::bigint, number, spent)
     ON CONFLICT (day, stripe) DO UPDATE SET tokens = used.tokens + excluded.tokens, cost = used.cost + excluded.cost
$$;

-- The arguments of a counting trigger: the name of the figure.

CREATE FUNCTION count_states() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM tally(TG_ARGV[0], OLD.state, -1); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM tally(TG_ARGV[0], NEW.state, 1); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON threads FOR EACH ROW EXECUTE FUNCTION count_states('threads');
CREATE TRIGGER recounted AFTER UPDATE ON threads FOR EACH ROW WHEN (OLD.state <> NEW.state)
    EXECUTE FUNCTION count_states('threads');
CREATE TRIGGER counted AFTER INSERT OR DELETE ON requests FOR EACH ROW EXECUTE FUNCTION count_states('requests');
CREATE TRIGGER recounted AFTER UPDATE ON requests FOR EACH ROW WHEN (OLD.state <> NEW.state)
    EXECUTE FUNCTION count_states('requests');

CREATE FUNCTION count_statuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM tally(TG_ARGV[0], OLD.status, -1); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM tally(TG_ARGV[0], NEW.status, 1); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION count_statuses('outbox');
CREATE TRIGGER recounted AFTER UPDATE ON outbox FOR EACH ROW WHEN (OLD.status <> NEW.status)
    EXECUTE FUNCTION count_statuses('outbox');

CREATE FUNCTION count_outcomes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM tally('inbox', OLD.outcome, -1);
        IF OLD.outcome = 'refused' THEN PERFORM tally('refused', OLD.reason, -1); END IF;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM tally('inbox', NEW.outcome, 1);
        IF NEW.outcome = 'refused' THEN PERFORM tally('refused', NEW.reason, 1); END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON inbox FOR EACH ROW EXECUTE FUNCTION count_outcomes();
CREATE TRIGGER recounted AFTER UPDATE ON inbox FOR EACH ROW
    WHEN (OLD.outcome <> NEW.outcome OR NEW.outcome = 'refused' AND OLD.reason <> NEW.reason)
    EXECUTE FUNCTION count_outcomes();

CREATE FUNCTION count_feedback() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN PERFORM tally('feedback', CASE WHEN OLD.good THEN 'good' ELSE 'bad' END, -1); END IF;
    IF TG_OP <> 'DELETE' THEN PERFORM tally('feedback', CASE WHEN NEW.good THEN 'good' ELSE 'bad' END, 1); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON feedback FOR EACH ROW EXECUTE FUNCTION count_feedback();
CREATE TRIGGER recounted AFTER UPDATE ON feedback FOR EACH ROW WHEN (OLD.good <> NEW.good)
    EXECUTE FUNCTION count_feedback();

CREATE FUNCTION count_gaps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF 1 = (SELECT COUNT(*) FROM gaps WHERE platform = NEW.platform AND place = NEW.place) THEN
            PERFORM tally('unread', NEW.platform, 1);
        END IF;
    ELSIF NOT EXISTS (SELECT 1 FROM gaps WHERE platform = OLD.platform AND place = OLD.place) THEN
        PERFORM tally('unread', OLD.platform, -1);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON gaps FOR EACH ROW EXECUTE FUNCTION count_gaps();

CREATE FUNCTION count_usage() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM tally_used(OLD.at, -(OLD.prompt_tokens + OLD.completion_tokens), -OLD.cost);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM tally_used(NEW.at, NEW.prompt_tokens + NEW.completion_tokens, NEW.cost);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE OR UPDATE OF at, prompt_tokens, completion_tokens, cost ON usage
    FOR EACH ROW EXECUTE FUNCTION count_usage();

-- Attachments: their bytes are counted.

CREATE FUNCTION count_attachments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE threads SET attached = attached + NEW.size WHERE id = NEW.thread;
    ELSE
        UPDATE threads SET attached = attached - OLD.size WHERE id = OLD.thread;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR DELETE ON attachments FOR EACH ROW EXECUTE FUNCTION count_attachments();

-- Contents go with the last attachment or work file that names them: at the end of the transaction, in which another row
-- may have come to name them.

CREATE FUNCTION drop_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Locked first: whoever is about to name it waits, or is seen by the next statement.
    PERFORM 1 FROM contents WHERE sha256 = OLD.sha256 FOR UPDATE;
    DELETE FROM contents WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256)
     AND NOT EXISTS (SELECT 1 FROM work_files WHERE sha256 = OLD.sha256);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER dropped AFTER DELETE ON attachments DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION drop_contents();
CREATE CONSTRAINT TRIGGER dropped AFTER DELETE ON work_files DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.sha256 IS NOT NULL) EXECUTE FUNCTION drop_contents();
CREATE CONSTRAINT TRIGGER changed AFTER UPDATE OF sha256 ON work_files DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.sha256 IS DISTINCT FROM NEW.sha256 AND OLD.sha256 IS NOT NULL) EXECUTE FUNCTION drop_contents();

-- Search: threads whose words are no longer those of the index. `unsearched` is always written, never only looked at,
-- and before the index: so who indexes passes over a thread while a transaction that adds to it is open.

CREATE FUNCTION drop_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM word_threads WHERE slice = OLD.number / 128 AND thread = OLD.number
     AND word = ANY (ARRAY(SELECT json_array_elements_text(OLD.words::json)));
    RETURN NULL;
END $$;
CREATE TRIGGER removed AFTER DELETE ON searched FOR EACH ROW EXECUTE FUNCTION drop_words();

CREATE FUNCTION unsearch(changed text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO unsearched (thread) SELECT changed WHERE changed IS NOT NULL
     ON CONFLICT (thread) DO UPDATE SET thread = excluded.thread
$$;

CREATE FUNCTION unsearch_title() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM unsearch(NEW.id);
    IF TG_OP = 'UPDATE' THEN DELETE FROM searched WHERE thread = NEW.id; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER titled AFTER INSERT ON threads FOR EACH ROW WHEN (NEW.title <> '') EXECUTE FUNCTION unsearch_title();
CREATE TRIGGER renamed AFTER UPDATE OF title ON threads FOR EACH ROW EXECUTE FUNCTION unsearch_title();

CREATE FUNCTION unsearch_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'DELETE' THEN
        PERFORM unsearch(NEW.thread);
    ELSIF EXISTS (SELECT 1 FROM threads WHERE id = OLD.thread) THEN
        PERFORM unsearch(OLD.thread);
    END IF;
    IF TG_OP <> 'INSERT' THEN DELETE FROM searched WHERE thread = OLD.thread AND inbox >= OLD.id; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER said AFTER INSERT ON inbox FOR EACH ROW WHEN (NEW.text <> '') EXECUTE FUNCTION unsearch_text();
CREATE TRIGGER changed AFTER UPDATE OF text ON inbox FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text)
    EXECUTE FUNCTION unsearch_text();
CREATE TRIGGER unsaid AFTER DELETE ON inbox FOR EACH ROW WHEN (OLD.text <> '') EXECUTE FUNCTION unsearch_text();

CREATE FUNCTION unsearch_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM unsearch(NEW.thread);
    RETURN NULL;
END $$;
CREATE TRIGGER said AFTER INSERT ON events FOR EACH ROW WHEN (NEW.kind = 'message_finished')
    EXECUTE FUNCTION unsearch_event();

-- Positions of the audit become visible in their order: a row gets its own at the end of its transaction, when that
-- has all its other locks, and the next one waits for it.

CREATE SEQUENCE audit_positions AS BIGINT;

CREATE FUNCTION number_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('parley audit', 0));
    UPDATE audit SET id = nextval('audit_positions') WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER numbered AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION number_audit();

-- Room for rows that change in place, and a vacuum of those that every turn changes before a fifth of a large table
-- is dead.

ALTER TABLE searched SET (fillfactor = 70);
ALTER TABLE deliveries SET (fillfactor = 70);
ALTER TABLE threads SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE turns SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE inbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The last transaction of each session, by a random word. The number of a transaction is not enough: after a crash of
-- the server, one that was lost and a later one may have had the same.
CREATE TABLE session_marks (
    session TEXT COLLATE "C" PRIMARY KEY,
    boot    TEXT COLLATE "C" NOT NULL,
    word    TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

-- Seconds since the epoch by the server's clock, the same for all nodes.
CREATE FUNCTION server_time() RETURNS double precision LANGUAGE sql VOLATILE
    RETURN extract(epoch FROM clock_timestamp());

-- The digest of the last config that all nodes took: that of the node which lives for longest, since a reload changes
-- those of all. Nodes of an earlier version have none, and those without platforms run the terminal's threads alone.
CREATE FUNCTION takes_lanes(node text) RETURNS boolean LANGUAGE sql STABLE
    RETURN COALESCE((SELECT n.draining OR n.platforms = '[]' OR n.digest IN ('',
        (SELECT o.digest FROM nodes o WHERE NOT o.draining AND o.platforms <> '[]' AND o.digest <> ''
          AND o.beat + o.patience >= server_time() ORDER BY o.since, o.boot LIMIT 1))
     FROM nodes n WHERE n.boot = node), TRUE);

-- The node that holds the lane of a thread with something new: the one that has it, while that one lives, or its turn
-- there was not put back. Else this node, if it tells the thread's platform, or none ('free'): another one adopts it.
CREATE FUNCTION lane_holder(owner text, thread text, key text) RETURNS text LANGUAGE sql STABLE
    RETURN CASE
        WHEN EXISTS (SELECT 1 FROM nodes n WHERE n.boot = owner) THEN owner
        WHEN EXISTS (SELECT 1 FROM turns u WHERE u.thread = lane_holder.thread AND u.status = 'running') THEN owner
        ELSE COALESCE((SELECT n.boot FROM nodes n WHERE n.boot = current_setting('parley.boot', TRUE)
                        AND NOT n.draining AND (strpos(n.platforms, '"' || split_part(key, '/', 1) || '"') > 0
                         OR n.platforms = '["*"]') AND takes_lanes(n.boot)), 'free')
    END;
