/* What the handles have in common: errors by SQLSTATE, and calls that wait. */
#include <string.h>

#include "sim/pg/handle_parts.h"

struct pg *pg_here;

void pg_handles_of(struct pg *pg)
{
    pg_here = pg;
}

/* --- Errors --- */

/* The first that fits counts. */
static const struct meaning {
    const char *state; /* its begin */
    enum pg_error kind;
    enum store_error error;
} meanings[] = {{"EF001", PG_NUMBER, STORE_AWAY},
                {"EF002", PG_REFUSED, STORE_REFUSED},
                {"EF003", PG_LEVEL, STORE_UNREPLICATED},
                {"08", PG_AWAY, STORE_AWAY},
                {"25006", PG_AWAY, STORE_AWAY},
                {"22", PG_REFUSED, STORE_REFUSED},
                {"23", PG_REFUSED, STORE_REFUSED},
                {"54", PG_REFUSED, STORE_REFUSED},
                {"40", PG_AGAIN, STORE_AWAY},
                {"55P03", PG_AGAIN, STORE_AWAY},
                {"57014", PG_AGAIN, STORE_AWAY},
                {"42501", PG_BROKEN, STORE_READ_ONLY},
                {"53100", PG_BROKEN, STORE_FULL},
                {"53200", PG_BROKEN, STORE_MEMORY},
                {"53300", PG_AWAY, STORE_AWAY},
                {"57", PG_AWAY, STORE_AWAY},
                {"", PG_BROKEN, STORE_IO}};

static const struct meaning *meaning_of(const char *state)
{
    const struct meaning *m = meanings;
    while (strncmp(m->state, state, strlen(m->state)) != 0)
        m++;
    return m;
}

enum pg_error pg_error_kind(const char *state)
{
    return meaning_of(state)->kind;
}

enum store_error pg_error_store(const char *state)
{
    return meaning_of(state)->error;
}

/* --- To wait --- */

uint64_t pg_now(const struct pg *pg)
{
    return pg_env(pg)->now(pg_env(pg)->arg);
}

static void wait_until(struct pg *pg, uint64_t until)
{
    uint64_t next = pg_next(pg);
    pg_env(pg)->wait(pg_env(pg)->arg, -1, next < until ? next : until);
}

void pg_sleep(struct pg *pg, uint64_t ns)
{
    uint64_t until = pg_now(pg) + ns;
    while (pg_now(pg) < until)
        pg_env(pg)->wait(pg_env(pg)->arg, -1, until);
}

struct pg_link *pg_open_link(struct pg *pg, const char *node)
{
    pg_sleep(pg, pg_connect_takes(pg));
    return pg_connect(pg, node);
}

struct pg_call *pg_ask(struct pg *pg, struct pg_link *link, struct pg_call *call, uint64_t until)
{
    struct pg_call *answer = NULL;
    if (!pg_send(link, call))
        return NULL;
    while (!(answer = pg_receive(link)) && !pg_is_broken(link) && pg_now(pg) < until)
        wait_until(pg, until);
    return answer;
}
