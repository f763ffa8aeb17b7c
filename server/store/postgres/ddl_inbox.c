#include "server/store/postgres/ddl_inbox.h"

/* Rows live for milliseconds, so vacuum comes early.  There is no cursor: a row that was committed
 * late, below others that are gone, is found as any. */
static const char tables[] = "CREATE SEQUENCE IF NOT EXISTS ergon.inbox_id;\n"
                             "CREATE TABLE IF NOT EXISTS ergon.inbox (\n"
                             "    id bigint PRIMARY KEY,\n"
                             "    role text COLLATE \"C\" NOT NULL,\n"
                             "    method text COLLATE \"C\" NOT NULL,\n"
                             "    params jsonb NOT NULL,\n"
                             "    options jsonb NOT NULL,\n"
                             "    submitted_at timestamptz NOT NULL DEFAULT clock_timestamp()\n"
                             ") WITH (autovacuum_vacuum_scale_factor = 0.02);\n"
                             "CREATE TABLE IF NOT EXISTS ergon.inbox_refused (\n"
                             "    id bigint PRIMARY KEY,\n"
                             "    role text COLLATE \"C\" NOT NULL,\n"
                             "    method text COLLATE \"C\" NOT NULL,\n"
                             "    params jsonb NOT NULL,\n"
                             "    options jsonb NOT NULL,\n"
                             "    submitted_at timestamptz NOT NULL,\n"
                             "    refused_at timestamptz NOT NULL DEFAULT clock_timestamp(),\n"
                             "    error text NOT NULL\n"
                             ");\n";

/* It runs with the rights of the schema's owner.  So its search_path is set, every name of ours has
 * its schema, and what the caller gives is data only.
 *
 * It does not NOTIFY: commits that do take a lock of the whole server, one after the other, each
 * until it is on the disk.  That made 16 connections 5 to 17 times slower. */
static const char submit[] =
    "CREATE OR REPLACE FUNCTION ergon.submit(method text, params jsonb DEFAULT '[]',\n"
    "    options jsonb DEFAULT '{}') RETURNS text LANGUAGE plpgsql SECURITY DEFINER\n"
    "    SET search_path = pg_catalog, pg_temp AS $$\n"
    "#variable_conflict use_variable\n"
    "DECLARE\n"
    "    n bigint;\n"
    "    key text;\n"
    "BEGIN\n"
    "    params := coalesce(params, '[]');\n"
    "    options := coalesce(options, '{}');\n"
    "    IF coalesce(octet_length(method), 0) NOT BETWEEN 1 AND 255 THEN\n"
    "        RAISE EXCEPTION 'the method must be a name of 1 to 255 bytes' USING ERRCODE = "
    "'22023';\n"
    "    ELSIF jsonb_typeof(params) <> 'array' THEN\n"
    "        RAISE EXCEPTION 'the parameters must be a JSON array: [1, \"two\"]'\n"
    "            USING ERRCODE = '22023';\n"
    "    ELSIF jsonb_typeof(options) <> 'object' THEN\n"
    "        RAISE EXCEPTION 'the options must be a JSON object: {\"delay\": \"5m\"}'\n"
    "            USING ERRCODE = '22023';\n"
    "    ELSIF pg_column_size(params) + pg_column_size(options) > 16777216 THEN\n"
    "        RAISE EXCEPTION 'the parameters are larger than 16 MiB: keep them in a table, and\n"
    "submit their key' USING ERRCODE = '54000';\n"
    "    END IF;\n"
    "    n := nextval('ergon.inbox_id');\n"
    "    IF options ? 'key' THEN\n"
    "        key := options->>'key';\n"
    "        IF key IS NULL THEN\n"
    "            options := options - 'key';\n"
    "        END IF;\n"
    "    ELSIF NOT options ?| ARRAY['coalesce', 'actor'] THEN\n"
    "        key := 'sql-' || n;\n"
    "        options := options || jsonb_build_object('key', key);\n"
    "    END IF;\n"
    "    INSERT INTO ergon.inbox (id, role, method, params, options)\n"
    "        VALUES (n, session_user, method, params, options);\n"
    "    RETURN key;\n"
    "END $$;\n"
    "REVOKE ALL ON FUNCTION ergon.submit(text, jsonb, jsonb) FROM PUBLIC;\n"
    "COMMENT ON FUNCTION ergon.submit(text, jsonb, jsonb) IS 'Submits a task that is taken over\n"
    "when this transaction commits; returns the key by which the task is found';\n";

/* Those of a session's own role. */
static const char refused[] =
    "CREATE OR REPLACE VIEW ergon.refused WITH (security_barrier) AS\n"
    "    SELECT id, method, params, options, submitted_at, refused_at, error\n"
    "    FROM ergon.inbox_refused WHERE role = session_user::text COLLATE \"C\";\n"
    "COMMENT ON VIEW ergon.refused IS 'Submissions of this role that were refused; delete them\n"
    "when they were read';\n";

/* An id as clients have it: server/jobs/core/ids.h. */
static void add_task_id(struct sql *s)
{
    enum { DIGITS = 13, DIGIT_BITS = 5 };
    sql_add(s, "CREATE OR REPLACE FUNCTION ergon.task_id(n bigint) RETURNS text LANGUAGE sql\n"
               "    IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT 't'");
    for (int digit = DIGITS - 1; digit >= 0; digit--)
        sql_add(s,
                " ||\n    pg_catalog.substr('0123456789abcdefghjkmnpqrstvwxyz', "
                "(n >> %d & 31)::int + 1, 1)",
                digit * DIGIT_BITS);
    sql_add(s, " $$;\n");
}

#define MOMENT(column) "to_timestamp(nullif(" column ", 0) / 1e9)"
#define HAS_ENDED      "l.ended_at IS NOT NULL"

static const char views[] =
    "CREATE OR REPLACE VIEW ergon.task_list AS SELECT ergon.task_id(s.id) AS id, s.method,\n"
    "    s.tenant, coalesce(l.state, 'queued') AS state, NOT (" HAS_ENDED ") AS open,\n"
    "    o.key, s.actor, coalesce(o.priority, 5) AS priority, s.durable,\n"
    "    " MOMENT("s.created_at") " AS created_at, " MOMENT(
        "l.due_at") " AS due_at,\n"
                    "    " MOMENT("l.started_at") " AS started_at, " MOMENT(
                        "l.ended_at") " AS ended_at,\n"
                                      "    " MOMENT(
                                          "o.deadline_at") " AS deadline_at, coalesce(l.attempt, "
                                                           "0) AS attempts,\n"
                                                           "    coalesce(l.failures, 0) AS "
                                                           "failures, l.error_code, l.error_text\n"
                                                           "    FROM ergon.submissions s LEFT JOIN "
                                                           "ergon.options o ON o.id = s.id\n"
                                                           "    LEFT JOIN ergon.lives l ON l.id = "
                                                           "s.id;\n"
                                                           "CREATE OR REPLACE VIEW "
                                                           "ergon.queue_list AS SELECT method,\n"
                                                           "    coalesce(q.paused, 0) = 1 AS "
                                                           "paused, coalesce(q.draining, 0) = 1 AS "
                                                           "draining,\n"
                                                           "    coalesce(t.open, 0) AS open, "
                                                           "coalesce(t.ended, 0) AS ended, "
                                                           "t.oldest_open_at\n"
                                                           "    FROM ergon.queues q FULL JOIN "
                                                           "(SELECT s.method,\n"
                                                           "        count(*) FILTER (WHERE NOT "
                                                           "(" HAS_ENDED ")) AS open,\n"
                                                           "        count(*) FILTER "
                                                           "(WHERE " HAS_ENDED ") AS ended,\n"
                                                           "        " MOMENT(
                                                               "min(s.created_at) FILTER (WHERE "
                                                               "NOT (" HAS_ENDED
                                                               "))") " AS "
                                                                     "oldest_open_at\n"
                                                                     "        FROM "
                                                                     "ergon.submissions s LEFT "
                                                                     "JOIN ergon.lives l ON l.id = "
                                                                     "s.id\n"
                                                                     "        GROUP BY s.method) t "
                                                                     "USING (method);\n"
                                                                     "CREATE OR REPLACE VIEW "
                                                                     "ergon.sem_list AS SELECT "
                                                                     "tenant, name,\n"
                                                                     "    "
                                                                     "coalesce(m.permits::bigint, "
                                                                     "h.of_permits::bigint) AS "
                                                                     "permits,\n"
                                                                     "    coalesce(h.held, 0) AS "
                                                                     "held, coalesce(h.holders, 0) "
                                                                     "AS holders\n"
                                                                     "    FROM (SELECT "
                                                                     "coalesce(tenant, '') AS "
                                                                     "tenant, name, permits FROM "
                                                                     "ergon.semaphores) m\n"
                                                                     "    FULL JOIN (SELECT "
                                                                     "coalesce(tenant, '') AS "
                                                                     "tenant, name, "
                                                                     "max(of_permits) AS "
                                                                     "of_permits,\n"
                                                                     "        sum(permits)::bigint "
                                                                     "AS held, count(*) AS holders "
                                                                     "FROM ergon.holds GROUP BY 1, "
                                                                     "2) h\n"
                                                                     "    USING (tenant, name);\n";

void ddl_add_inbox(struct sql *s)
{
    sql_add(s, "%s%s%s", tables, submit, refused);
    add_task_id(s);
    sql_add(s, "%s", views);
}

/* The roles belong to the whole of the server; a database gives them rights of its own. */
static const char roles[] =
    /* Nodes that may write the owner's row: an upgrade need not name their role. */
    "DO $$ DECLARE r text; BEGIN\n"
    "FOR r IN SELECT DISTINCT grantee::regrole::text FROM pg_class, aclexplode(relacl)\n"
    "    WHERE oid = 'ergon.owner'::regclass AND privilege_type = 'UPDATE' AND grantee <> 0 LOOP\n"
    "    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ergon.inbox, ergon.inbox_refused TO ' "
    "|| r;\n"
    "END LOOP;\n"
    "FOREACH r IN ARRAY ARRAY['ergon_submit', 'ergon_read'] LOOP\n"
    "    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) AND EXISTS (SELECT FROM pg_roles\n"
    "        WHERE rolname = current_user AND (rolsuper OR rolcreaterole)) THEN\n"
    "        EXECUTE format('CREATE ROLE %I NOLOGIN', r);\n"
    "    END IF;\n"
    "END LOOP;\n"
    "IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ergon_submit') THEN\n"
    "    GRANT USAGE ON SCHEMA ergon TO ergon_submit;\n"
    "    GRANT EXECUTE ON FUNCTION ergon.submit(text, jsonb, jsonb) TO ergon_submit;\n"
    "    GRANT SELECT, DELETE ON ergon.refused TO ergon_submit;\n"
    "END IF;\n"
    "IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ergon_read') THEN\n"
    "    GRANT USAGE ON SCHEMA ergon TO ergon_read;\n"
    "    GRANT SELECT ON ergon.task_list, ergon.queue_list, ergon.sem_list TO ergon_read;\n"
    "END IF;\n"
    "END $$;\n";

void ddl_add_inbox_roles(struct sql *s)
{
    sql_add(s, "%s", roles);
}
