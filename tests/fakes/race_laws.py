"""Laws that hold in a store after any units side by side."""

from __future__ import annotations

MOST_MEMOS = 3
LAWS = {
    "a message was taken twice": (
        "SELECT message_id FROM inbox WHERE kind = 'message' AND message_id <> ''"
        " AND edits IS NULL AND outcome <> 'refused' GROUP BY message_id HAVING COUNT(*) > 1"
    ),
    "a request was decided twice": (
        "SELECT request FROM audit WHERE what IN ('answered', 'expired', 'closed')"
        " GROUP BY request HAVING COUNT(*) > 1"
    ),
    "a person supports twice, or more than are asked": (
        "SELECT s.request FROM supports s JOIN requests r ON r.id = s.request"
        " GROUP BY s.request, r.quorum HAVING COUNT(*) >= r.quorum"
    ),
    "a message is taken by no turn": (
        "SELECT id FROM inbox WHERE outcome = 'turn' AND turn IS NULL AND kind = 'message'"
    ),
    "a place has too many memos": (
        f"SELECT key FROM memos GROUP BY team, scope, key HAVING COUNT(*) > {MOST_MEMOS}"
    ),
    "a deleted message is taken": (
        "SELECT d.key FROM deleted d JOIN dedupe s ON s.key = d.key JOIN inbox i"
        " ON i.id = s.inbox WHERE i.outcome = 'queued'"
    ),
    "an open question is no longer due": (
        "SELECT id FROM requests WHERE state = 'open' AND due_at IS NULL"
    ),
}
