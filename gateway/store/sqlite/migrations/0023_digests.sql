-- A node's config, where several processes share a store.

ALTER TABLE nodes ADD COLUMN digest TEXT NOT NULL DEFAULT '';
