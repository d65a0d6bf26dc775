-- Messages that came with foreign text or files, found without reading the thread's others.

ALTER TABLE inbox ADD COLUMN untrusted INTEGER NOT NULL DEFAULT 0;
UPDATE inbox SET untrusted = 1
 WHERE quotes <> '[]' OR EXISTS (SELECT 1 FROM attachments WHERE inbox = inbox.id);
CREATE INDEX inbox_untrusted ON inbox (thread, received_at) WHERE untrusted;
