-- Any number of nodes. The table `owner` stays for processes of an earlier version, which it keeps out.

CREATE TABLE nodes (
    boot      TEXT COLLATE "C" PRIMARY KEY,
    name      TEXT COLLATE "C" NOT NULL,
    version   TEXT COLLATE "C" NOT NULL,
    platforms TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    figures   TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    since     DOUBLE PRECISION NOT NULL,
    beat      DOUBLE PRECISION NOT NULL,
    patience  DOUBLE PRECISION NOT NULL,
    draining  BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE leases (
    name   TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL
);

-- The last transaction of each session, by a random word. The number of a transaction is not enough: after a crash of
-- the server, one that was lost and a later one may have had the same.
CREATE TABLE session_marks (
    session TEXT COLLATE "C" PRIMARY KEY,
    boot    TEXT COLLATE "C" NOT NULL,
    word    TEXT COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX threads_owner ON threads (owner);

-- Messages that began a turn once more count among the turns of who wrote them.
CREATE INDEX inbox_again ON inbox (author, taken_at) WHERE outcome = 'command' AND turn IS NOT NULL;

-- A thread that is gone leaves no job. One that a node looks at just now is finished by that node.
CREATE FUNCTION drop_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM procrastinate_jobs WHERE id IN
     (SELECT id FROM procrastinate_jobs WHERE queueing_lock = OLD.id AND status = 'todo' FOR UPDATE SKIP LOCKED);
    RETURN NULL;
END $$;
CREATE TRIGGER gone AFTER DELETE ON threads FOR EACH ROW EXECUTE FUNCTION drop_jobs();

-- Seconds since the epoch by the server's clock, the same for all nodes.
CREATE FUNCTION server_time() RETURNS double precision LANGUAGE sql VOLATILE
    RETURN extract(epoch FROM clock_timestamp());

-- The node that holds the lane of a thread with something new: the one that has it, while that one lives, or its turn
-- there was not put back. Else this node, if it tells the thread's platform, or none ('free'): another one adopts it.
CREATE FUNCTION lane_holder(owner text, thread text, key text) RETURNS text LANGUAGE sql STABLE
    RETURN CASE
        WHEN EXISTS (SELECT 1 FROM nodes n WHERE n.boot = owner) THEN owner
        WHEN EXISTS (SELECT 1 FROM turns u WHERE u.thread = lane_holder.thread AND u.status = 'running') THEN owner
        ELSE COALESCE((SELECT n.boot FROM nodes n WHERE n.boot = current_setting('parley.boot', TRUE)
                        AND NOT n.draining AND (strpos(n.platforms, '"' || split_part(key, '/', 1) || '"') > 0
                         OR n.platforms = '["*"]')), 'free')
    END;
