-- What was done, by whom: in one order, and kept when its thread is deleted. No text is in it: arguments and answers are read where they stand.
CREATE TABLE audited (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,  -- the position: no number comes twice, and none below one that was read
    thread         TEXT NOT NULL DEFAULT '',    -- also of one that was deleted; empty: none
    at             REAL NOT NULL,
    person         TEXT NOT NULL DEFAULT '',    -- Author.id; empty: the gateway itself; deleted: somebody who was deleted
    what           TEXT NOT NULL,               -- an AuditAction, or of requests and grants: asked | supported | answered | expired | closed | revoked
    request        TEXT NOT NULL DEFAULT '',
    kind           TEXT NOT NULL DEFAULT '',    -- of the request
    tool           TEXT NOT NULL DEFAULT '',
    arguments_hash TEXT NOT NULL DEFAULT '',
    outcome        TEXT NOT NULL DEFAULT '',    -- for people; not what they answered in words
    place          TEXT NOT NULL DEFAULT '',    -- ConversationKey from which it was done
    turn           TEXT NOT NULL DEFAULT '',
    agent          TEXT NOT NULL DEFAULT '',    -- that did it, on the person's behalf
    call           TEXT NOT NULL DEFAULT '',    -- key of the tool call
    shown          INTEGER NOT NULL DEFAULT 0,  -- seq of the event with the call's arguments
    object         TEXT NOT NULL DEFAULT ''     -- that something was done to, where it is no tool
);
INSERT INTO audited
 SELECT a.id, a.thread, a.at, a.person, a.what, a.request, a.kind, a.tool, a.arguments_hash, a.outcome, a.place,
  COALESCE(r.turn, ''), '', COALESCE(r.call, ''), 0, ''
 FROM audit a LEFT JOIN requests r ON r.id = a.request ORDER BY a.id;
DROP TABLE audit;
ALTER TABLE audited RENAME TO audit;
CREATE INDEX audit_thread ON audit (thread, call);
