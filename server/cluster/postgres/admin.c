/* The schema, made and looked at: see server/cluster/admin.h. */
#include "server/cluster/admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/connection.h"
#include "server/store/postgres/ddl.h"
#include "server/store/postgres/ddl_inbox.h"
#include "server/store/postgres/errors.h"

#define ADMIN_TIMEOUT AO_S(60)
enum { NAME_MAX_LENGTH = 63 };

static int fail(const struct store_fault *fault, char *text, size_t size)
{
    snprintf(text, size, "%s", fault->text);
    return -1;
}

static bool open_admin(struct connection *c, const char *where, struct store_fault *fault)
{
    char text[sizeof fault->text];
    if (!connection_check(where, text, sizeof text))
        return connection_open(c, where, CONNECTION_ADMIN, 0, fault);
    fault->error = STORE_IO;
    memcpy(fault->text, text, sizeof text);
    return false;
}

static PGresult *run(struct connection *c, const char *where, const char *sql,
                     struct store_fault *fault)
{
    return connection_run(c, sql, NULL, clock_monotonic() + ADMIN_TIMEOUT, where, fault);
}

static bool run_all(struct connection *c, const char *where, const char *sql,
                    struct store_fault *fault)
{
    PGresult *r = run(c, where, sql, fault);
    PQclear(r);
    return r != NULL;
}

/* --- The roles of applications --- */

/* Names what is missing, if the session could not make it. */
static void say_roles(struct connection *c, const char *where, char *text, size_t size)
{
    struct store_fault fault;
    size_t len = strlen(text);
    PGresult *r = run(c, where,
                      "SELECT count(*) FROM pg_roles WHERE rolname IN ('ergon_submit', "
                      "'ergon_read')",
                      &fault);
    if (r && strcmp(PQgetvalue(r, 0, 0), "2") != 0)
        snprintf(text + len, size - len,
                 "%sthis role may not make the roles ergon_submit and ergon_read; for "
                 "applications, run CREATE ROLE ergon_submit; CREATE ROLE ergon_read; as one that "
                 "may, then ergon cluster upgrade",
                 len > 0 ? "; " : "");
    PQclear(r);
}

/* --- init --- */

static bool is_name(const char *name)
{
    static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX_LENGTH && strspn(name, all) == len;
}

/* The schema may be there without any right to look into it. */
static bool is_new(struct connection *c, const char *where, struct store_fault *fault)
{
    PGresult *r = run(c, where, "SELECT to_regnamespace('ergon') IS NULL", fault);
    if (!r)
        return false;
    bool none = PQgetvalue(r, 0, 0)[0] == 't';
    PQclear(r);
    if (!none)
        error_say(fault, STORE_IO, where,
                  "the schema ergon is there already; 'ergon cluster status' shows what is in it, "
                  "and DROP SCHEMA ergon CASCADE removes it with all tasks");
    return none;
}

static bool grant(struct connection *c, const char *role, struct sql *sql)
{
    char *quoted = PQescapeIdentifier(c->pg, role, strlen(role));
    if (!quoted)
        return false;
    ddl_grant(sql, quoted);
    PQfreemem(quoted);
    return true;
}

static bool create(struct connection *c, const char *where, const char *cluster, const char *role,
                   struct store_fault *fault)
{
    struct sql sql = {.at = malloc(DDL_MAX), .room = DDL_MAX};
    bool good = sql.at != NULL;
    if (good) {
        ddl_create(&sql, cluster);
        good = !role || grant(c, role, &sql);
        ddl_add_inbox_roles(&sql);
    }
    if (!good)
        error_say(fault, STORE_MEMORY, where, "there is no memory, or the role's name is no name");
    good = good && run_all(c, where, sql.at, fault);
    free(sql.at);
    return good;
}

static int admin_init(const char *where, const char *cluster, const char *role, char *text,
                      size_t size)
{
    struct connection c;
    struct store_fault fault;
    if (!is_name(cluster)) {
        snprintf(text, size, "'%s' cannot be a cluster's name: up to %d of a-z, A-Z, 0-9, . - _",
                 cluster, NAME_MAX_LENGTH);
        return -1;
    }
    if (!open_admin(&c, where, &fault))
        return fail(&fault, text, size);
    bool good = is_new(&c, where, &fault) && create(&c, where, cluster, role, &fault);
    text[0] = '\0';
    if (good)
        say_roles(&c, where, text, size);
    connection_close(&c);
    return good ? 0 : fail(&fault, text, size);
}

/* --- upgrade --- */

static bool read_version(struct connection *c, const char *where, int *version, int *least,
                         struct store_fault *fault)
{
    PGresult *r = run(c, where, "SELECT version, protocol_min FROM ergon.cluster", fault);
    bool good = r && PQntuples(r) == 1;
    if (good) {
        *version = atoi(PQgetvalue(r, 0, 0));
        *least = atoi(PQgetvalue(r, 0, 1));
    } else if (r) {
        error_say(fault, STORE_IO, where, "ergon.cluster has no row; run 'ergon cluster init URL'");
    }
    PQclear(r);
    return good;
}

static bool check_age(int version, const char *where, struct store_fault *fault)
{
    if (version <= SCHEMA_VERSION)
        return true;
    error_say(fault, STORE_IO, where,
              "the schema ergon is of version %d, newer than this ergon (%d); use a newer one",
              version, SCHEMA_VERSION);
    return false;
}

static bool upgrade(struct connection *c, const char *where, enum upgrade_step step,
                    const char *role, struct store_fault *fault)
{
    struct sql sql = {.at = malloc(DDL_MAX), .room = DDL_MAX};
    bool good = sql.at && (!role || strlen(role) <= NAME_MAX_LENGTH);
    if (good) {
        ddl_upgrade(&sql);
        sql_add(&sql, "UPDATE ergon.cluster SET version = %d;", SCHEMA_VERSION);
        if (step == UPGRADE_FINISH)
            sql_add(&sql, "UPDATE ergon.cluster SET protocol_min = version;");
        good = !role || grant(c, role, &sql);
        ddl_add_inbox_roles(&sql);
    }
    if (!good)
        error_say(fault, STORE_IO, where, "there is no memory, or the role's name is no name");
    good = good && run_all(c, where, sql.at, fault);
    free(sql.at);
    return good;
}

static int admin_upgrade(const char *where, enum upgrade_step step, const char *role, char *text,
                         size_t size)
{
    struct connection c;
    struct store_fault fault;
    int version = 0, least = 0;
    if (!open_admin(&c, where, &fault))
        return fail(&fault, text, size);
    bool good = read_version(&c, where, &version, &least, &fault) &&
                check_age(version, where, &fault) &&
                (step == UPGRADE_CHECK || upgrade(&c, where, step, role, &fault));
    snprintf(text, size, "the schema is of version %d, and nodes from version %d on may use it",
             SCHEMA_VERSION, step == UPGRADE_FINISH ? SCHEMA_VERSION : least);
    if (good && step != UPGRADE_CHECK)
        say_roles(&c, where, text, size);
    connection_close(&c);
    return good ? 0 : fail(&fault, text, size);
}

/* --- doctor --- */

/* The names are looked up at run time, so the table may be missing. */
#define MAY_READ_INBOX                                                                             \
    "(to_regclass('ergon.inbox') IS NOT NULL AND "                                                 \
    "coalesce(has_table_privilege(to_regclass('ergon.inbox'), 'SELECT'), false) AND "              \
    "coalesce(has_table_privilege(to_regclass('ergon.inbox'), 'DELETE'), false))"

/* `sql` gives one row: the value, and how bad it is (enum fact_grade). */
static const struct look {
    const char *name, *sql, *text; /* "inbox_…": only where the session may read the inbox */
} looks[] = {
    {"server_version", "SELECT current_setting('server_version'), 0", ""},
    {"synchronous_standby_names",
     "SELECT current_setting('synchronous_standby_names'), "
     "CASE WHEN current_setting('synchronous_standby_names') = '' THEN 2 ELSE 0 END",
     "no commit waits for a standby: the loss of the primary loses tasks; set it to ANY 1 (…)"},
    {"standbys",
     "SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) || ' synchronous of ' || "
     "count(*), CASE WHEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) = 0 THEN 2 "
     "WHEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) = 1 THEN 1 ELSE 0 END "
     "FROM pg_stat_replication",
     "with one standby the loss of it stops all commits, with none they wait already; start "
     "another (a role without pg_monitor sees none)"},
    {"fsync",
     "SELECT current_setting('fsync'), CASE WHEN current_setting('fsync') = 'on' THEN 0 ELSE 2 "
     "END",
     "commits are not on the disk; set fsync = on"},
    {"full_page_writes",
     "SELECT current_setting('full_page_writes'), "
     "CASE WHEN current_setting('full_page_writes') = 'on' THEN 0 ELSE 2 END",
     "a power failure may damage pages; set full_page_writes = on"},
    {"lag_ms",
     "SELECT coalesce((1000 * extract(epoch FROM min(flush_lag)))::bigint, 0), CASE WHEN "
     "min(flush_lag) > interval '1 second' THEN 1 ELSE 0 END FROM pg_stat_replication "
     "WHERE sync_state IN ('sync', 'quorum')",
     "each commit waits so long for its standby"},
    {"xid_age",
     "SELECT age(datfrozenxid), CASE WHEN age(datfrozenxid) > 1500000000 THEN 2 "
     "WHEN age(datfrozenxid) > 500000000 THEN 1 ELSE 0 END FROM pg_database "
     "WHERE datname = current_database()",
     "vacuum does not keep up with the numbers of transactions: at 2 billion all writes stop"},
    {"held_xmin_s",
     "SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start))::bigint, 0), CASE "
     "WHEN max(clock_timestamp() - xact_start) > interval '10 minutes' THEN 1 ELSE 0 END "
     "FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()",
     "a transaction that has been open so long keeps vacuum from removing dead rows"},
    {"archive_mode",
     "SELECT current_setting('archive_mode'), "
     "CASE WHEN current_setting('archive_mode') = 'off' THEN 1 ELSE 0 END",
     "without one archive of .history files for all servers two of them may begin timelines of one "
     "number; set archive_mode = on, with archive_command and restore_command"},
    {"replication_slots_inactive",
     "SELECT count(*), CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM pg_replication_slots "
     "WHERE NOT active",
     "slots that nobody reads keep WAL until the disk is full; drop them"},
    {"dead_rows",
     "SELECT coalesce(sum(n_dead_tup), 0)::bigint, CASE WHEN sum(n_dead_tup) > 1000000 AND "
     "sum(n_dead_tup) > sum(n_live_tup) THEN 1 ELSE 0 END FROM pg_stat_all_tables "
     "WHERE schemaname = 'ergon'",
     "autovacuum does not keep up; raise autovacuum_vacuum_cost_limit"},
    {"inbox",
     "SELECT CASE WHEN to_regclass('ergon.inbox') IS NULL THEN 'missing' WHEN " MAY_READ_INBOX
     " THEN 'there' ELSE 'no right' END, CASE WHEN " MAY_READ_INBOX " THEN 0 ELSE 1 END",
     "nothing takes over what applications submit by ergon.submit(); run ergon cluster upgrade, "
     "with --role of the nodes"},
    {"inbox_oldest_s",
     "SELECT coalesce(extract(epoch FROM clock_timestamp() - min(submitted_at))::bigint, 0), "
     "CASE WHEN min(submitted_at) < clock_timestamp() - interval '1 minute' THEN 1 ELSE 0 END "
     "FROM ergon.inbox",
     "committed submissions wait so long for the owner; its log says why it does not take them"},
    {"inbox_refused",
     "SELECT count(*), CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM ergon.inbox_refused",
     "submissions by ergon.submit() were refused; ergon.inbox_refused says why, and keeps the "
     "newest " INBOX_REFUSED_KEEP}};

static int look_all(struct connection *c, const char *where,
                    void (*tell)(void *arg, const struct cluster_fact *fact), void *arg,
                    struct store_fault *fault)
{
    bool has_inbox = false;
    for (unsigned n = 0; n < sizeof looks / sizeof *looks; n++) {
        if (strncmp(looks[n].name, "inbox_", strlen("inbox_")) == 0 && !has_inbox)
            continue;
        PGresult *r = run(c, where, looks[n].sql, fault);
        if (!r)
            return -1;
        has_inbox |= strcmp(looks[n].name, "inbox") == 0 && PQgetvalue(r, 0, 0)[0] == 't';
        if (PQntuples(r) == 1) {
            enum fact_grade grade = (enum fact_grade)atoi(PQgetvalue(r, 0, 1));
            tell(arg, &(struct cluster_fact){.name = looks[n].name,
                                             .grade = grade,
                                             .value = PQgetvalue(r, 0, 0),
                                             .text = grade == FACT_GOOD ? "" : looks[n].text});
        }
        PQclear(r);
    }
    return 0;
}

/* How far the engine's clock is from this one, at most: what the question took may be part of it.
 */
static int look_clock(struct connection *c, const char *where,
                      void (*tell)(void *arg, const struct cluster_fact *fact), void *arg,
                      struct store_fault *fault)
{
    char value[32];
    uint64_t before = clock_wall();
    PGresult *r =
        run(c, where, "SELECT (1e6 * extract(epoch FROM clock_timestamp()))::bigint", fault);
    if (!r)
        return -1;
    int64_t here = (int64_t)((before + clock_wall()) / 2 / 1000);
    long long off = (atoll(PQgetvalue(r, 0, 0)) - here) / 1000, most = off < 0 ? -off : off;
    PQclear(r);
    snprintf(value, sizeof value, "%lld", off);
    tell(arg, &(struct cluster_fact){
                  .name = "clock_ms",
                  .grade = most > 10000  ? FACT_BAD
                           : most > 1000 ? FACT_NOTE
                                         : FACT_GOOD,
                  .value = value,
                  .text = most > 1000 ? "the clocks of this machine and of the database differ; "
                                        "a node that is off by 10 s does not own tasks"
                                      : ""});
    return 0;
}

static int admin_look(const char *where, void (*tell)(void *arg, const struct cluster_fact *fact),
                      void *arg, char *text, size_t size)
{
    struct connection c;
    struct store_fault fault;
    if (!open_admin(&c, where, &fault))
        return fail(&fault, text, size);
    int rc = look_all(&c, where, tell, arg, &fault);
    if (rc == 0)
        rc = look_clock(&c, where, tell, arg, &fault);
    connection_close(&c);
    return rc == 0 ? 0 : fail(&fault, text, size);
}

__attribute__((visibility("default"))) extern const struct cluster_admin ergon_cluster_admin;
const struct cluster_admin ergon_cluster_admin = {.version = STORE_DRIVER_VERSION,
                                                  .init = admin_init,
                                                  .upgrade = admin_upgrade,
                                                  .look = admin_look};
