-- The limit that holds a thread's next turn, as its people were told.

ALTER TABLE threads ADD COLUMN held TEXT NOT NULL DEFAULT '';      -- its name in [limits], or "files"
ALTER TABLE threads ADD COLUMN held_until REAL;                    -- until then, if that is known
CREATE INDEX threads_held ON threads (held) WHERE held <> '';
