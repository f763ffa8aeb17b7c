#include "server/store/postgres/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/errors.h"
#include "server/store/postgres/hosts.h"

#define OPEN_TIMEOUT     AO_S(9) /* with the settings and checks */
#define HOST_TIMEOUT     AO_S(3) /* of each host, if the URL does not say another one */
#define SETTINGS_TIMEOUT AO_S(3) /* for the rest, at least, however long the hosts took */
#define QUICK            AO_S(1) /* a failure that is no silent host */
#define STOP_TIMEOUT     AO_S(1) /* from the stop of the process on */
enum { STATE_LENGTH = 5, TIMEOUT_TRIES = 10 };

/* --- The URL --- */

const char *connection_check(const char *where, char *text, size_t size)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(where, &why);
    if (!options) {
        snprintf(text, size, "the URL of the store cannot be parsed: %s",
                 why ? why : "there is no memory");
        PQfreemem(why);
        text[strcspn(text, "\n")] = '\0';
        return text;
    }
    const char *wrong = NULL;
    for (const PQconninfoOption *o = options; o->keyword; o++)
        if (o->val &&
            (strcmp(o->keyword, "password") == 0 || strcmp(o->keyword, "sslpassword") == 0))
            wrong = "the URL of the store has a password in it, which other users can see; put it "
                    "into ~/.pgpass, a service file or a passfile= of the URL";
    PQconninfoFree(options);
    if (!wrong)
        return NULL;
    snprintf(text, size, "%s", wrong);
    return text;
}

bool connection_has_hosts(const char *where)
{
    bool many = false;
    PQconninfoOption *options = PQconninfoParse(where, NULL);
    for (const PQconninfoOption *o = options; o && o->keyword; o++)
        if (o->val && (strcmp(o->keyword, "host") == 0 || strcmp(o->keyword, "hostaddr") == 0))
            many |= strchr(o->val, ',') != NULL;
    PQconninfoFree(options);
    return many;
}

/* What is before `dbname` may be said otherwise there, what is behind may not. */
struct keywords {
    const char *names[20], *values[20];
    unsigned count;
};

/* Empty: libpq takes what `dbname` says. */
static void add_keyword(struct keywords *k, const char *name, const char *value)
{
    if (!*value)
        return;
    k->names[k->count] = name;
    k->values[k->count++] = value;
}

static void keywords_of(struct keywords *k, const char *where, const struct host *host)
{
    *k = (struct keywords){0};
    add_keyword(k, "gssencmode", "disable");
    add_keyword(k, "fallback_application_name", "ergond");
    add_keyword(k, "dbname", where);
    add_keyword(k, "host", host->name);
    add_keyword(k, "hostaddr", host->address);
    add_keyword(k, "port", host->port);
    add_keyword(k, "tcp_user_timeout", "5000");
    add_keyword(k, "keepalives", "1");
    add_keyword(k, "keepalives_idle", "2");
    add_keyword(k, "keepalives_interval", "1");
    add_keyword(k, "keepalives_count", "3");
    if (connection_has_hosts(where))
        add_keyword(k, "target_session_attrs", "primary");
}

/* --- To connect --- */

static bool is_state(const char *at)
{
    for (int n = 0; n < STATE_LENGTH; n++)
        if (!((at[n] >= '0' && at[n] <= '9') || (at[n] >= 'A' && at[n] <= 'Z')))
            return false;
    return at[STATE_LENGTH] == ':';
}

/* Of a message like `FATAL:  28P01: password ...`. */
static bool state_in(const char *message, char state[STATE_LENGTH + 1])
{
    for (const char *at = strstr(message, ":  "); at; at = strstr(at + 3, ":  "))
        if (is_state(at + 3)) {
            memcpy(state, at + 3, STATE_LENGTH);
            state[STATE_LENGTH] = '\0';
            return true;
        }
    return false;
}

static ao_time left(ao_time deadline)
{
    ao_time now = clock_monotonic();
    return deadline > now ? deadline - now : 0;
}

/* Connects, or has connected. */
static bool poll_connect(struct connection *c, ao_time deadline)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (c->pg && PQstatus(c->pg) != CONNECTION_BAD && next != PGRES_POLLING_FAILED &&
           next != PGRES_POLLING_OK) {
        if (!connection_wait_until(c, next == PGRES_POLLING_WRITING, deadline))
            return false;
        next = PQconnectPoll(c->pg);
    }
    return c->pg && PQstatus(c->pg) == CONNECTION_OK;
}

/* libpq gives no SQLSTATE of a connection that failed, but in the text if it is asked to before:
 * so it is tried once more. */
static bool ask_state(const struct connection *c, const struct keywords *k,
                      char state[STATE_LENGTH + 1])
{
    struct connection again = {.pg = PQconnectStartParams(k->names, k->values, 1), .stop = c->stop};
    if (!again.pg)
        return false;
    PQsetErrorVerbosity(again.pg, PQERRORS_VERBOSE);
    poll_connect(&again, clock_monotonic() + QUICK);
    bool found = state_in(PQerrorMessage(again.pg), state);
    PQfinish(again.pg);
    return found;
}

static void say_silence(const struct connection *c, const char *where, struct store_fault *fault)
{
    error_say(fault, STORE_AWAY, where,
              c->stop_by ? "the server had not answered when this process stopped"
                         : "the server does not answer");
}

/* Said before the session began: it is the server that is ill, and not our rows or rights. */
static bool is_ill(const char *state)
{
    static const char *const classes[] = {"53", "57", "58", "XX"};
    for (unsigned n = 0; n < sizeof classes / sizeof *classes; n++)
        if (strncmp(state, classes[n], 2) == 0)
            return true;
    return false;
}

static bool connect_to(struct connection *c, const char *where, const struct host *host,
                       ao_time timeout, struct store_fault *fault)
{
    struct keywords k;
    char state[STATE_LENGTH + 1] = "";
    keywords_of(&k, where, host);
    ao_time began = clock_monotonic();
    c->pg = PQconnectStartParams(k.names, k.values, 1);
    if (poll_connect(c, began + timeout))
        return true;
    if (!c->pg || PQstatus(c->pg) != CONNECTION_BAD)
        say_silence(c, where, fault);
    else if (clock_monotonic() - began < QUICK && ask_state(c, &k, state))
        error_describe(fault, where, state, PQerrorMessage(c->pg));
    else
        error_of_connection(fault, where, c->pg);
    if (c->pg && PQstatus(c->pg) == CONNECTION_BAD && is_ill(state))
        fault->error = STORE_AWAY;
    connection_close(c);
    return false;
}

static bool connect(struct connection *c, const char *where, struct store_fault *fault)
{
    struct hosts hosts;
    struct store_fault of_host;
    hosts_of(where, HOST_TIMEOUT, &hosts);
    fault->error = STORE_OK;
    for (uint32_t n = 0; n < hosts.count; n++) {
        if (connect_to(c, where, &hosts.list[n], hosts.timeout, &of_host))
            return true;
        if (fault->error != STORE_AWAY || of_host.error == STORE_AWAY)
            *fault = of_host; /* one that may come back says more than one that refuses */
    }
    return false;
}

void connection_close(struct connection *c)
{
    PQfinish(c->pg);
    c->pg = NULL;
}

static void receive_notice(void *arg, const PGresult *notice)
{
    struct connection *c = arg;
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    if (state && strcmp(state, STATE_CANCELLED_WAIT) == 0)
        c->cancelled = true;
}

/* --- To wait, and to run a statement --- */

void connection_wait(const struct connection *c, bool writes, int other, ao_time timeout)
{
    struct pollfd fds[2] = {
        {.fd = c->pg ? PQsocket(c->pg) : -1, .events = (short)(POLLIN | (writes ? POLLOUT : 0))},
        {.fd = other, .events = POLLIN}};
    struct timespec t = clock_spec(timeout);
    ppoll(fds, 2, timeout == AO_NEVER ? NULL : &t, NULL);
}

static bool is_stopping(const struct connection *c)
{
    struct pollfd stop = {.fd = c->stop ? c->stop : -1, .events = POLLIN};
    return poll(&stop, 1, 0) == 1;
}

static bool is_over(const struct connection *c, ao_time deadline)
{
    return left(deadline) == 0 || (c->stop_by && left(c->stop_by) == 0);
}

bool connection_wait_until(struct connection *c, bool writes, ao_time deadline)
{
    if (!c->stop_by && is_stopping(c))
        c->stop_by = clock_monotonic() + STOP_TIMEOUT;
    if (is_over(c, deadline))
        return false;
    ao_time timeout = left(deadline);
    if (c->stop_by && left(c->stop_by) < timeout)
        timeout = left(c->stop_by);
    connection_wait(c, writes, c->stop_by || !c->stop ? -1 : c->stop, timeout);
    return true;
}

static bool send(struct connection *c, const char *sql, const struct params *p)
{
    if (!p)
        return PQsendQuery(c->pg, sql);
    return PQsendQueryParams(c->pg, sql, p->count, p->types, p->values, p->lengths, p->formats, 1);
}

/* False: it broke, or the time is over. */
static bool wait_for_result(struct connection *c, ao_time deadline)
{
    for (;;) {
        int flushed = PQflush(c->pg);
        if (flushed < 0 || !PQconsumeInput(c->pg))
            return false;
        if (flushed == 0 && !PQisBusy(c->pg))
            return true;
        if (!connection_wait_until(c, flushed > 0, deadline))
            return false;
    }
}

static bool is_good(const PGresult *r)
{
    ExecStatusType status = PQresultStatus(r);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_OUT ||
           status == PGRES_COPY_IN;
}

static PGresult *last_result(struct connection *c, ao_time deadline)
{
    PGresult *last = NULL, *next;
    while (wait_for_result(c, deadline)) {
        next = PQgetResult(c->pg);
        if (!next)
            return last;
        if (last && !is_good(last)) { /* the first error counts */
            PQclear(next);
            continue;
        }
        PQclear(last);
        last = next;
        if (PQresultStatus(last) == PGRES_COPY_OUT || PQresultStatus(last) == PGRES_COPY_IN)
            return last;
    }
    PQclear(last);
    return NULL;
}

PGresult *connection_run(struct connection *c, const char *sql, const struct params *params,
                         ao_time deadline, const char *where, struct store_fault *fault)
{
    PGresult *r = NULL;
    c->stop_by = 0;
    if (PQsetnonblocking(c->pg, 1) == 0 && send(c, sql, params))
        r = last_result(c, deadline);
    if (r && is_good(r))
        return r;
    if (r)
        error_of_result(fault, where, r);
    else if (is_over(c, deadline))
        say_silence(c, where, fault);
    else
        error_of_connection(fault, where, c->pg);
    if (!r || PQstatus(c->pg) == CONNECTION_BAD)
        connection_close(c);
    PQclear(r);
    return NULL;
}

/* --- Settings and checks --- */

/* Roles, databases and poolers change what these are by default, and startup options do not pass a
 * pooler.  Without warnings nobody learns that the wait for a standby was cancelled. */
static const char settings[] =
    "SET synchronous_commit = on; SET client_encoding = 'UTF8'; SET search_path = pg_catalog; "
    "SET default_transaction_isolation = 'read committed'; "
    "SET default_transaction_read_only = off; SET default_transaction_deferrable = off; "
    "SET standard_conforming_strings = on; SET lock_timeout = 0; "
    "SET client_min_messages = warning; "
    "SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; SET jit = off";
/* A backend whose client's machine is gone gives back the lock of the owner's row: in the midst of
 * a batch, or of a take-over. */
static const char settings_gone[] =
    "SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3; "
    "SET tcp_user_timeout = 5000";
static const char settings_member[] = "SET idle_in_transaction_session_timeout = '10s'";
/* A backend that waits for a lock notices that its client is gone.  Not on each system. */
static const char settings_system[] = "SET client_connection_check_interval = '2s'";
static const char settings_17[] = "SET transaction_timeout = 0";
/* The statements name a few rows each, by number.  A plan that reads a table whole was good while
 * the table was small, and may be kept while it grows. */
static const char settings_plans[] =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
    "SET plan_cache_mode = force_generic_plan";

static bool run_all(struct connection *c, const char *sql, const char *where,
                    struct store_fault *fault)
{
    PGresult *r = connection_run(c, sql, NULL, c->opened_by, where, fault);
    PQclear(r);
    return r != NULL;
}

/* A timeout that is very short may end the statement that ends it. */
static bool end_timeout(struct connection *c, const char *where, struct store_fault *fault)
{
    for (int n = 0; n < TIMEOUT_TRIES; n++)
        if (run_all(c, "SET statement_timeout = 0", where, fault))
            return true;
        else if (!c->pg)
            return false;
    return false;
}

static bool set_all(struct connection *c, enum connection_use use, const char *where,
                    struct store_fault *fault)
{
    int version = PQserverVersion(c->pg);
    if (version < SERVER_VERSION_MIN) {
        error_say(fault, STORE_IO, where, "it is PostgreSQL %d; ergond needs %d or later",
                  version / 10000, SERVER_VERSION_MIN / 10000);
        return false;
    }
    return end_timeout(c, where, fault) && run_all(c, settings, where, fault) &&
           (version < 170000 || run_all(c, settings_17, where, fault)) &&
           run_all(c, settings_gone, where, fault) &&
           (use != CONNECTION_MEMBER || run_all(c, settings_member, where, fault)) &&
           (use != CONNECTION_WRITES || run_all(c, settings_plans, where, fault)) &&
           (run_all(c, settings_system, where, fault) || c->pg);
}

static bool is_true(const PGresult *r, int column)
{
    return PQgetvalue(r, 0, column)[0] == 't';
}

static bool check_server(struct connection *c, const char *where, struct store_fault *fault)
{
    PGresult *r =
        connection_run(c, "SELECT pg_is_in_recovery(), current_setting('server_encoding') = 'UTF8'",
                       NULL, c->opened_by, where, fault);
    if (!r)
        return false;
    bool standby = is_true(r, 0), utf8 = is_true(r, 1);
    PQclear(r);
    if (standby)
        error_say(
            fault, STORE_AWAY, where,
            "the server is a standby; name all hosts in the URL (host1,host2), or promote it");
    else if (!utf8)
        error_say(fault, STORE_IO, where,
                  "the encoding of the database is not UTF8; create it with ENCODING 'UTF8'");
    return !standby && utf8;
}

static bool check_version(struct connection *c, const PGresult *r, const char *where,
                          struct store_fault *fault)
{
    int version = PQntuples(r) == 1 ? atoi(PQgetvalue(r, 0, 0)) : 0;
    int least = version ? atoi(PQgetvalue(r, 0, 1)) : 0;
    c->least = least;
    if (version < SCHEMA_VERSION)
        error_say(fault, STORE_IO, where,
                  "the schema ergon is of version %d, older than this ergond (%d); run 'ergon "
                  "cluster upgrade URL'",
                  version, SCHEMA_VERSION);
    else if (least > SCHEMA_VERSION)
        error_say(fault, STORE_IO, where,
                  "the schema ergon is of version %d, newer than this ergond (%d); upgrade ergond",
                  version, SCHEMA_VERSION);
    return version >= SCHEMA_VERSION && least <= SCHEMA_VERSION;
}

static bool check_schema(struct connection *c, const char *where, struct store_fault *fault)
{
    PGresult *r = connection_run(
        c,
        "SELECT to_regclass('ergon.cluster') IS NOT NULL, to_regnamespace('ergon') IS NOT NULL, "
        "(SELECT coalesce(bool_and(has_table_privilege(oid, 'SELECT') AND "
        "has_table_privilege(oid, 'UPDATE')), true) FROM pg_class "
        "WHERE relnamespace = to_regnamespace('ergon') AND relkind = 'r' "
        "AND relname NOT IN ('cluster', 'inbox', 'inbox_refused'))",
        NULL, c->opened_by, where, fault);
    if (!r)
        return false;
    bool table = is_true(r, 0), schema = is_true(r, 1), rights = is_true(r, 2);
    PQclear(r);
    if (!schema)
        error_say(fault, STORE_IO, where,
                  "the schema ergon is missing; run 'ergon cluster init URL'");
    else if (!table)
        error_say(fault, STORE_IO, where,
                  "its schema ergon was made by something else; use another database");
    else if (!rights)
        error_describe(fault, where, "42501", NULL);
    if (!schema || !table || !rights)
        return false;
    r = connection_run(c, "SELECT version, protocol_min FROM ergon.cluster", NULL, c->opened_by,
                       where, fault);
    bool good = r && check_version(c, r, where, fault);
    PQclear(r);
    return good;
}

bool connection_open(struct connection *c, const char *where, enum connection_use use, int stop,
                     struct store_fault *fault)
{
    ao_time began = clock_monotonic();
    *c = (struct connection){.stop = stop};
    if (!connect(c, where, fault))
        return false;
    c->opened_by = began + OPEN_TIMEOUT;
    if (left(c->opened_by) < SETTINGS_TIMEOUT)
        c->opened_by = clock_monotonic() + SETTINGS_TIMEOUT;
    PQsetNoticeReceiver(c->pg, receive_notice, c);
    if (set_all(c, use, where, fault) && check_server(c, where, fault) &&
        (use == CONNECTION_ADMIN || check_schema(c, where, fault)))
        return true;
    connection_close(c);
    return false;
}
