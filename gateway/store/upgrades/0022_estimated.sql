-- Tokens of a row that the model did not tell: they are estimated.
ALTER TABLE usage ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
