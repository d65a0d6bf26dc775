-- The config that a thread was begun with. Threads from before belong to none.

ALTER TABLE threads ADD COLUMN config TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE threads ADD COLUMN config_digest TEXT COLLATE "C" NOT NULL DEFAULT '';
