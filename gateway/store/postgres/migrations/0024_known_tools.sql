-- Tools of servers as they were met: one whose text is another than the accepted one is another tool.

CREATE TABLE known_tools (
    server   TEXT COLLATE "C" NOT NULL,
    tool     TEXT COLLATE "C" NOT NULL,
    digest   TEXT COLLATE "C" NOT NULL,
    text     TEXT COLLATE "C" NOT NULL,
    met_at   DOUBLE PRECISION NOT NULL,
    accepted BOOLEAN NOT NULL,
    since    DOUBLE PRECISION NOT NULL DEFAULT 0,
    PRIMARY KEY (server, tool, digest)
);

ALTER TABLE requests ADD COLUMN meant TEXT COLLATE "C" NOT NULL DEFAULT '';
