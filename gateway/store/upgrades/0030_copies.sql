-- Messages that a fork has copied: a deletion of the first one reaches them all.

ALTER TABLE inbox ADD COLUMN copy_of INTEGER;                   -- the message that it is a copy of; NULL: of none
CREATE INDEX inbox_copies ON inbox (copy_of) WHERE copy_of IS NOT NULL;
