-- A model that was chosen for a thread.
ALTER TABLE threads ADD COLUMN model TEXT NOT NULL DEFAULT '';  -- the config's name of the model that all its agents use; empty: each its own
ALTER TABLE turns ADD COLUMN model TEXT NOT NULL DEFAULT '';    -- that of the thread when the turn began
