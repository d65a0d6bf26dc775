-- Tokens of a row that the model did not tell: they are estimated.
ALTER TABLE usage ADD COLUMN estimated BIGINT NOT NULL DEFAULT 0;
