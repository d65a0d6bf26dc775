-- Contents of attachments and of files in work folders, by their hashes: each is stored once.
CREATE TABLE contents (
    sha256 TEXT COLLATE "C" PRIMARY KEY,
    size   BIGINT NOT NULL
);

CREATE TABLE content_parts (                     -- of a megabyte; only the last one has less
    sha256 TEXT COLLATE "C" NOT NULL REFERENCES contents (sha256) ON DELETE CASCADE,
    n      BIGINT NOT NULL,
    data   BYTEA NOT NULL,
    PRIMARY KEY (sha256, n)
);
ALTER TABLE content_parts ALTER COLUMN data SET STORAGE EXTERNAL;  -- its beginning is read without the rest

CREATE TABLE work_folders (
    thread  TEXT COLLATE "C" PRIMARY KEY REFERENCES threads (id) ON DELETE CASCADE,
    version TEXT COLLATE "C" NOT NULL                       -- random, another one with each change; working copies carry it
);

CREATE TABLE work_files (
    thread  TEXT COLLATE "C" NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
    path    TEXT COLLATE "C" NOT NULL,                      -- in the folder
    mode    BIGINT NOT NULL,                    -- kind and permissions, as in st_mode
    size    BIGINT NOT NULL,
    changed BIGINT NOT NULL,                     -- ns, as in st_mtime
    sha256  TEXT COLLATE "C" REFERENCES contents (sha256),  -- of a file's contents or a link's target; NULL without any
    PRIMARY KEY (thread, path)
);
CREATE INDEX work_files_sha256 ON work_files (sha256);

CREATE FUNCTION drop_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Locked first: whoever is about to name it waits, or is seen by the next statement.
    PERFORM 1 FROM contents WHERE sha256 = OLD.sha256 FOR UPDATE;
    DELETE FROM contents WHERE sha256 = OLD.sha256
     AND NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = OLD.sha256)
     AND NOT EXISTS (SELECT 1 FROM work_files WHERE sha256 = OLD.sha256);
    RETURN NULL;
END $$;
CREATE TRIGGER dropped AFTER DELETE ON attachments FOR EACH ROW EXECUTE FUNCTION drop_contents();
CREATE TRIGGER dropped AFTER DELETE ON work_files FOR EACH ROW
    WHEN (OLD.sha256 IS NOT NULL) EXECUTE FUNCTION drop_contents();
CREATE TRIGGER changed AFTER UPDATE OF sha256 ON work_files FOR EACH ROW
    WHEN (OLD.sha256 IS DISTINCT FROM NEW.sha256 AND OLD.sha256 IS NOT NULL) EXECUTE FUNCTION drop_contents();
