-- The state of a thread's team at the ends of turns: `checkpoints` has the rows of several, and a turn the last of its.

ALTER TABLE turns ADD COLUMN state INTEGER;                     -- `n` of that checkpoint; NULL: not kept
ALTER TABLE turns ADD COLUMN handoff_from TEXT NOT NULL DEFAULT '';  -- the thread's, at the end of the turn

UPDATE turns SET state = (SELECT MAX(n) FROM checkpoints c WHERE c.thread = turns.thread),
 handoff_from = (SELECT handoff_from FROM threads t WHERE t.id = turns.thread)
 WHERE status NOT IN ('running', 'paused', 'waiting')
 AND n = (SELECT MAX(n) FROM turns o WHERE o.thread = turns.thread);
