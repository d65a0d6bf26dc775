-- Reloads of the config, which all nodes take part in: each says whether it can, and all change or none.

CREATE TABLE reloads (
    id       TEXT COLLATE "C" PRIMARY KEY,
    digest   TEXT COLLATE "C" NOT NULL,
    proposer TEXT COLLATE "C" NOT NULL,
    source   TEXT COLLATE "C" NOT NULL,
    changes  TEXT COLLATE "C" NOT NULL,
    dry      BOOLEAN NOT NULL,
    state    TEXT COLLATE "C" NOT NULL DEFAULT 'open',
    missing  TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    at       DOUBLE PRECISION NOT NULL
);

CREATE TABLE reload_votes (
    reload  TEXT COLLATE "C" NOT NULL REFERENCES reloads (id) ON DELETE CASCADE,
    boot    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    refusal TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (reload, boot)
);
