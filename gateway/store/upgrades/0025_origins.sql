-- The config that a thread was begun with. Threads from before belong to none.

ALTER TABLE threads ADD COLUMN config TEXT NOT NULL DEFAULT '';         -- real path of its file
ALTER TABLE threads ADD COLUMN config_digest TEXT NOT NULL DEFAULT '';  -- of the file's text then
