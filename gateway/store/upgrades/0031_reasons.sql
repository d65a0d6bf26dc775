-- Why people call an answer bad, in their words.

ALTER TABLE feedback ADD COLUMN reason TEXT NOT NULL DEFAULT '';
