-- Tools of servers as they were met: one whose text is another than the accepted one is another tool.

CREATE TABLE known_tools (
    server   TEXT NOT NULL,              -- its name in [mcp], or TEAM/NAME
    tool     TEXT NOT NULL,
    digest   TEXT NOT NULL,              -- of its whole name, description and schema
    text     TEXT NOT NULL,              -- the same for people; cut if it is long
    met_at   REAL NOT NULL,
    accepted BOOLEAN NOT NULL,           -- the text by which the policy judges, one of each tool
    since    REAL NOT NULL DEFAULT 0,    -- approvals for a thread from before do not hold
    PRIMARY KEY (server, tool, digest)
) WITHOUT ROWID;

ALTER TABLE requests ADD COLUMN meant TEXT NOT NULL DEFAULT '';  -- digest of the tool's new text, which an approver may accept
