-- The limit that holds a thread's next turn, as its people were told.

ALTER TABLE threads ADD COLUMN held TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE threads ADD COLUMN held_until DOUBLE PRECISION;
CREATE INDEX threads_held ON threads (held) WHERE held <> '';
