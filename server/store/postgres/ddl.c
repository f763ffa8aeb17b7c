#include "server/store/postgres/ddl.h"

#include "server/store/postgres/connection.h"
#include "server/store/postgres/ddl_inbox.h"
#include "server/store/postgres/errors.h"
#include "server/store/postgres/types.h"
#include "server/store/rows.h"

/* --- Tables of tasks and of what people change --- */

/* Dead rows of the large tables are removed long before they are a fifth of the table, and most
 * lives and states of actors change in place. */
static const char *storage_of(const struct store_table *t)
{
    if (t == &row_lives || t == &store_actors)
        return " WITH (autovacuum_vacuum_scale_factor = 0.02, fillfactor = 70)";
    if (t == &row_database_submissions || t == &row_options || t == &row_events)
        return " WITH (autovacuum_vacuum_scale_factor = 0.02)";
    return "";
}

static const char *collation_of(const struct store_column *c)
{
    return c->kind == COLUMN_TEXT || c->kind == COLUMN_NAME ? " COLLATE \"C\"" : "";
}

static void add_unique(struct sql *s, const struct store_table *t)
{
    const char *before = "";
    sql_add(s, "CREATE UNIQUE INDEX IF NOT EXISTS %s ON ergon.%s (", t->unique, t->table);
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        const struct store_column *c = &t->columns[n];
        if (c->key == KEY_NONE)
            continue;
        bool null = c->key == KEY_PART_OR_NULL;
        sql_add(s, "%s%s%s%s", before, null ? "(coalesce(" : "", c->name, null ? ", ''))" : "");
        before = ", ";
    }
    sql_add(s, ");\n");
}

static void add_table(struct sql *s, const struct store_table *t)
{
    sql_add(s, "CREATE TABLE IF NOT EXISTS ergon.%s (\n", t->table);
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        const struct store_column *c = &t->columns[n];
        sql_add(s, "    %s %s%s%s,\n", c->name, type_name(c), collation_of(c),
                c->required ? " NOT NULL" : "");
    }
    sql_add(s, "    PRIMARY KEY (%s)\n)%s;\n", t->order, storage_of(t));
    if (t->unique)
        add_unique(s, t);
}

/* --- Rows of the cluster --- */

static const char cluster_tables[] = "CREATE TABLE ergon.cluster (\n"
                                     "    one bool PRIMARY KEY DEFAULT true CHECK (one),\n"
                                     "    name text COLLATE \"C\" NOT NULL,\n"
                                     "    version int NOT NULL,\n"
                                     "    protocol_min int NOT NULL\n"
                                     ");\n"
                                     "CREATE TABLE ergon.nodes (\n"
                                     "    node text COLLATE \"C\" PRIMARY KEY,\n"
                                     "    incarnation bigint NOT NULL,\n"
                                     "    renewals bigint NOT NULL DEFAULT 0,\n"
                                     "    state text NOT NULL,\n"
                                     "    note text NOT NULL DEFAULT '',\n"
                                     "    board bigint NOT NULL DEFAULT 0,\n"
                                     "    address text NOT NULL DEFAULT '',\n"
                                     "    version text NOT NULL DEFAULT '',\n"
                                     "    weight int NOT NULL DEFAULT 1\n"
                                     ") WITH (fillfactor = 50);\n";

/* `session`: of the connection that writes; a connection that begins raises it, and what another
 * one has left in flight fits no more. */
static const char owner_table[] = "CREATE TABLE ergon.owner (\n"
                                  "    one bool PRIMARY KEY DEFAULT true CHECK (one),\n"
                                  "    node text COLLATE \"C\",\n"
                                  "    incarnation bigint NOT NULL DEFAULT 0,\n"
                                  "    epoch bigint NOT NULL DEFAULT 0,\n"
                                  "    session bigint NOT NULL DEFAULT 0,\n"
                                  "    batch bigint NOT NULL DEFAULT 0,\n"
                                  "    boards int NOT NULL DEFAULT 0,\n"
                                  "    id_mark bigint NOT NULL DEFAULT 0,\n"
                                  "    fence_mark bigint NOT NULL DEFAULT 0,\n"
                                  "    tries int NOT NULL DEFAULT 0";

#define COUNTER_TYPE "bigint NOT NULL DEFAULT 0"

static void add_owner(struct sql *s)
{
    sql_add(s, "%s", owner_table);
    for (uint32_t n = 0; n < row_counters.count; n++)
        sql_add(s, ",\n    %s " COUNTER_TYPE, row_counters.columns[n].name);
    sql_add(s, "\n) WITH (fillfactor = 50);\nINSERT INTO ergon.owner DEFAULT VALUES;\n");
}

/* --- Functions --- */

/* The UPDATE, not a look at the row, is what keeps a former owner out: it waits for the row's lock,
 * and its condition is evaluated again behind whatever came first. */
static const char functions[] =
    "CREATE OR REPLACE FUNCTION ergon.fence(e bigint, s bigint, b bigint, submitted bigint, done "
    "bigint,\n"
    "    failed bigint, cancelled bigint, expired bigint, dead bigint, last_id bigint,\n"
    "    last_fence bigint, committed_at bigint, id_mark bigint, fence_mark bigint,\n"
    "    loaded boolean, leaves boolean, need bigint) RETURNS bigint LANGUAGE plpgsql AS $$\n"
    "#variable_conflict use_column\n"
    "DECLARE\n"
    "    level bigint := " SQL_LEVEL ";\n"
    "BEGIN\n"
    "    UPDATE ergon.owner o SET batch = b, submitted = o.submitted + fence.submitted,\n"
    "        done = o.done + fence.done, failed = o.failed + fence.failed,\n"
    "        cancelled = o.cancelled + fence.cancelled, expired = o.expired + fence.expired,\n"
    "        dead = o.dead + fence.dead, commits = o.commits + 1,\n"
    "        last_id = greatest(o.last_id, fence.last_id),\n"
    "        last_fence = greatest(o.last_fence, fence.last_fence),\n"
    "        committed_at = fence.committed_at,\n"
    "        id_mark = greatest(o.id_mark, fence.id_mark),\n"
    "        fence_mark = greatest(o.fence_mark, fence.fence_mark),\n"
    "        tries = CASE WHEN loaded THEN 0 ELSE tries END,\n"
    "        node = CASE WHEN leaves THEN NULL ELSE node END\n"
    "    WHERE epoch = e AND session = s AND batch = b - 1;\n"
    "    IF NOT FOUND THEN\n"
    "        RAISE EXCEPTION 'the batch is not the next one' USING ERRCODE = '" STATE_FENCED "';\n"
    "    END IF;\n"
    "    IF level < need THEN\n"
    "        RAISE EXCEPTION 'level % is less than %', level, need\n"
    "            USING ERRCODE = '" STATE_LEVEL "';\n"
    "    END IF;\n"
    "    RETURN level;\n"
    "END $$;\n"
    "CREATE OR REPLACE FUNCTION ergon.rows(have bigint, want bigint) RETURNS void LANGUAGE plpgsql "
    "AS $$\n"
    "BEGIN\n"
    "    IF have <> want THEN\n"
    "        RAISE EXCEPTION '% of % rows are there', have, want\n"
    "            USING ERRCODE = '" STATE_ROWS "';\n"
    "    END IF;\n"
    "END $$;\n";

static void add_tables(struct sql *s)
{
    for (unsigned n = 0; n < ROW_DATABASE_TABLES; n++)
        if (!row_database_tables[n]->one_row) /* the counters are columns of ergon.owner */
            add_table(s, row_database_tables[n]);
}

void ddl_create(struct sql *s, const char *cluster)
{
    sql_add(s, "CREATE SCHEMA ergon;\n%s", cluster_tables);
    sql_add(s, "INSERT INTO ergon.cluster (name, version, protocol_min) VALUES ('%s', %d, %d);\n",
            cluster, SCHEMA_VERSION, SCHEMA_VERSION);
    add_owner(s);
    add_tables(s);
    sql_add(s, "%s", functions);
    ddl_add_inbox(s);
}

/* --- A later version --- */

/* Only those that may be NULL: the version before writes rows without them. */
static void list_columns(struct sql *s, const struct store_table *t)
{
    for (uint32_t n = 0; n < sql_columns(t); n++) {
        const struct store_column *c = &t->columns[n];
        if (t->one_row)
            sql_add(s, "('owner', '%s', '" COUNTER_TYPE "'),\n", c->name);
        else if (!c->required)
            sql_add(s, "('%s', '%s', '%s%s'),\n", t->table, c->name, type_name(c), collation_of(c));
    }
}

void ddl_upgrade(struct sql *s)
{
    add_tables(s);
    sql_add(s, "DO $$ DECLARE c record; BEGIN FOR c IN SELECT * FROM (VALUES\n");
    for (unsigned n = 0; n < ROW_DATABASE_TABLES; n++)
        list_columns(s, row_database_tables[n]);
    sql_add(
        s,
        "(NULL, NULL, NULL)) v (at, name, type)\n"
        "WHERE at IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute WHERE NOT attisdropped\n"
        "    AND attrelid = ('ergon.' || at)::regclass AND attname = v.name)\n"
        "LOOP EXECUTE format('ALTER TABLE ergon.%%I ADD COLUMN %%I %%s', c.at, c.name, c.type);\n"
        "END LOOP; END $$;\n%s",
        functions);
    ddl_add_inbox(s);
}

void ddl_grant(struct sql *s, const char *quoted_role)
{
    sql_add(s, "GRANT USAGE ON SCHEMA ergon TO %s;\n", quoted_role);
    sql_add(s,
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ergon TO %s;\n"
            "REVOKE INSERT, UPDATE, DELETE ON ergon.cluster FROM %s;\n"
            "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ergon TO %s;\n",
            quoted_role, quoted_role, quoted_role);
}
