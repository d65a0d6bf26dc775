-- Files that are fetched once their message is stored.

ALTER TABLE inbox ADD COLUMN awaits TEXT;       -- JSON: what its files are fetched by; NULL once they are here or given up
ALTER TABLE inbox ADD COLUMN awaits_until REAL; -- when its turn begins without them
CREATE INDEX inbox_awaits ON inbox (id) WHERE awaits IS NOT NULL;
