-- Whose words a team may know, and what its tools brought, in time that does not grow with the thread.
CREATE INDEX inbox_heard ON inbox (
    thread, (outcome = 'answer'), author, author_groups, COALESCE(taken_at, received_at)
) WHERE outcome IN ('turn', 'merged', 'answer');
CREATE INDEX requests_words ON requests (thread, answered_by) WHERE answer_text <> '';
CREATE INDEX tool_calls_outputs ON tool_calls (thread, tool, finished_at) WHERE status = 'finished';
