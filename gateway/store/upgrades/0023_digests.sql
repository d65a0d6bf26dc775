-- A node's config. Lanes are taken by the nodes that have the one of all nodes.

ALTER TABLE nodes ADD COLUMN digest TEXT NOT NULL DEFAULT '';

/*pg
-- The digest of the last config that all nodes took: that of the node which lives for longest, since a reload changes
-- those of all. Nodes of an earlier version have none, and those without platforms run the terminal's threads alone.
CREATE FUNCTION takes_lanes(node text) RETURNS boolean LANGUAGE sql STABLE
    RETURN COALESCE((SELECT n.draining OR n.platforms = '[]' OR n.digest IN ('',
        (SELECT o.digest FROM nodes o WHERE NOT o.draining AND o.platforms <> '[]' AND o.digest <> ''
          AND o.beat + o.patience >= server_time() ORDER BY o.since, o.boot LIMIT 1))
     FROM nodes n WHERE n.boot = node), TRUE);

CREATE OR REPLACE FUNCTION lane_holder(owner text, thread text, key text) RETURNS text LANGUAGE sql STABLE
    RETURN CASE
        WHEN EXISTS (SELECT 1 FROM nodes n WHERE n.boot = owner) THEN owner
        WHEN EXISTS (SELECT 1 FROM turns u WHERE u.thread = lane_holder.thread AND u.status = 'running') THEN owner
        ELSE COALESCE((SELECT n.boot FROM nodes n WHERE n.boot = current_setting('parley.boot', TRUE)
                        AND NOT n.draining AND (strpos(n.platforms, '"' || split_part(key, '/', 1) || '"') > 0
                         OR n.platforms = '["*"]') AND takes_lanes(n.boot)), 'free')
    END;
*/
