-- A text is noted beside those that are noted already: no turn waits for who indexes words, only who takes words away.
/*pg
ALTER TABLE unsearched DROP CONSTRAINT unsearched_thread_key;
CREATE INDEX unsearched_thread ON unsearched (thread);

CREATE OR REPLACE FUNCTION unsearch(changed text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO unsearched (thread) SELECT changed WHERE changed IS NOT NULL
$$;

CREATE FUNCTION await_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('words',
     COALESCE(hashtext(NULLIF(current_setting('parley.schema', TRUE), '')), 0)));
    RETURN NULL;
END $$;
CREATE TRIGGER await_words BEFORE UPDATE OF title ON threads FOR EACH STATEMENT EXECUTE FUNCTION await_words();
CREATE TRIGGER await_words BEFORE DELETE OR UPDATE OF text ON inbox FOR EACH STATEMENT EXECUTE FUNCTION await_words();
*/
