-- Work folders as they were at the ends of turns. Both databases have the entries; contents are in the database with
-- PostgreSQL, and in files beside it with SQLite.

/*sqlite*/
CREATE TABLE work_folders (                     -- of threads, as of the last end of a turn
    thread  TEXT PRIMARY KEY REFERENCES threads (id) ON DELETE CASCADE,
    version TEXT NOT NULL,                      -- random, another one with each change; the notes beside the folders have it
    kept_from INTEGER NOT NULL DEFAULT 0        -- the first turn at whose end the entries are known
);

CREATE TABLE work_files (
    thread  TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,
    mode    INTEGER NOT NULL,                   -- kind and permissions, as in st_mode
    size    INTEGER NOT NULL,
    changed INTEGER NOT NULL,                   -- ns, as in st_mtime
    sha256  TEXT,                               -- of a file's contents or a link's target; NULL without any
    since   INTEGER NOT NULL DEFAULT 0,         -- the turn that has stored it
    PRIMARY KEY (thread, path)
);
INSERT INTO work_folders (thread, version, kept_from) SELECT thread, '', MAX(n) + 1 FROM turns GROUP BY thread;
/*pg
ALTER TABLE work_folders ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE work_files ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
UPDATE work_folders w SET kept_from = (SELECT COALESCE(MAX(n), 0) FROM turns t WHERE t.thread = w.thread);
*/

CREATE TABLE work_versions (                    -- entries that were there at the ends of turns: from `since` on, before `until`
    thread  TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,
    mode    INTEGER NOT NULL,
    size    INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    sha256  TEXT /*pg REFERENCES contents (sha256)*/,
    since   INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    PRIMARY KEY (thread, path, until)
);
CREATE INDEX work_versions_until ON work_versions (thread, until);

/*pg
CREATE INDEX work_versions_sha256 ON work_versions (sha256);

CREATE OR REPLACE FUNCTION drop_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Locked first: whoever is about to name it waits, or is seen by the next statement.
    PERFORM 1 FROM contents WHERE sha256 = OLD.sha256 FOR UPDATE;
    DELETE FROM contents WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256)
     AND NOT EXISTS (SELECT 1 FROM work_files WHERE sha256 = OLD.sha256)
     AND NOT EXISTS (SELECT 1 FROM work_versions WHERE sha256 = OLD.sha256);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER dropped AFTER DELETE ON work_versions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.sha256 IS NOT NULL) EXECUTE FUNCTION drop_contents();
*/
