/* Machines: replication from a primary to its standbys, deaths, and promotions. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/pg/model_parts.h"

/* --- Replication --- */

static bool hears(const struct pg *pg, int standby, int primary)
{
    const struct pg_machine *s = &pg->machines[standby], *p = &pg->machines[primary];
    return p->primary && !s->primary && s->follows == primary && s->up && !s->frozen && !s->apart &&
           p->up && !p->frozen && !p->apart;
}

static bool receive(struct pg *pg, int standby, int primary)
{
    struct pg_machine *s = &pg->machines[standby], *p = &pg->machines[primary];
    bool any = false;
    for (struct pg_record *r = p->first; r; r = r->next) {
        if (r->lsn <= s->lsn)
            continue;
        if (r->at[standby] > pg->clock)
            break;
        pg_tables_apply(s->tables, r->changes);
        s->lsn = r->lsn;
        any = true;
    }
    if (s->lsn > p->synced) {
        p->synced = s->lsn;
        any = true;
    }
    return any;
}

static bool is_everywhere(const struct pg *pg, int primary, uint64_t lsn)
{
    for (int n = 0; n < PG_MACHINES; n++)
        if (n != primary && pg->machines[n].follows == primary && !pg->machines[n].primary &&
            pg->machines[n].lsn < lsn)
            return false;
    return true;
}

static void drop_first(struct pg_machine *m)
{
    struct pg_record *r = m->first;
    m->first = r->next;
    if (!m->first)
        m->last = NULL;
    pg_tables_clear(r->changes, PG_TABLES);
    free(r);
}

bool pg_machines_step(struct pg *pg)
{
    bool any = false;
    for (int p = 0; p < PG_MACHINES; p++) {
        struct pg_machine *m = &pg->machines[p];
        for (int s = 0; s < PG_MACHINES; s++)
            if (s != p && hears(pg, s, p))
                any |= receive(pg, s, p);
        while (m->first && m->first->visible && is_everywhere(pg, p, m->first->lsn))
            drop_first(m);
    }
    return any;
}

uint64_t pg_machines_next(const struct pg *pg)
{
    uint64_t next = PG_NEVER;
    for (int p = 0; p < PG_MACHINES; p++)
        for (int s = 0; s < PG_MACHINES; s++) {
            const struct pg_record *r = pg->machines[p].first;
            if (s == p || !hears(pg, s, p))
                continue;
            while (r && r->lsn <= pg->machines[s].lsn)
                r = r->next;
            if (r && r->at[s] < next)
                next = r->at[s];
        }
    return next;
}

void pg_machine_clear(struct pg_machine *m)
{
    pg_tables_clear(m->tables, PG_TABLES);
    while (m->first)
        drop_first(m);
}

/* --- Deaths --- */

static void end_backends(struct pg *pg, int machine)
{
    for (struct pg_backend *next, *b = pg->backends; b; b = next) {
        next = b->next;
        if (b->machine == machine)
            pg_backend_free(pg, b);
    }
}

static void changed(struct pg *pg)
{
    pg_advance(pg);
    pg_tell(pg);
}

void pg_kill(struct pg *pg, int machine)
{
    pg_advance(pg);
    end_backends(pg, machine);
    pg->machines[machine].up = false;
    changed(pg);
}

/* Keeps what was written, also where no client was answered. */
static void recover(struct pg_machine *m)
{
    for (struct pg_record *r = m->first; r; r = r->next) {
        if (!r->visible)
            pg_tables_apply(m->tables, r->changes);
        r->visible = true;
    }
}

void pg_start(struct pg *pg, int machine)
{
    pg_advance(pg);
    if (!pg->machines[machine].up)
        recover(&pg->machines[machine]);
    pg->machines[machine].up = true;
    changed(pg);
}

void pg_freeze(struct pg *pg, int machine, bool on)
{
    pg_advance(pg);
    pg->machines[machine].frozen = on;
    changed(pg);
}

void pg_separate(struct pg *pg, int machine, bool on)
{
    pg_advance(pg);
    pg->machines[machine].apart = on;
    changed(pg);
}

/* --- Who is the primary --- */

int pg_primary(const struct pg *pg)
{
    return pg->primary;
}

int pg_most_advanced(const struct pg *pg)
{
    int best = -1;
    for (int n = 0; n < PG_MACHINES; n++) {
        const struct pg_machine *m = &pg->machines[n];
        bool can = m->up && !m->frozen && !m->apart && !m->primary && m->follows == pg->primary;
        if (can && (best < 0 || m->lsn > pg->machines[best].lsn))
            best = n;
    }
    return best;
}

static void copy(struct pg *pg, int machine)
{
    struct pg_machine *m = &pg->machines[machine], *p = &pg->machines[pg->primary];
    pg_machine_clear(m);
    pg_tables_copy(m->tables, p->tables);
    m->lsn = p->lsn;
    for (struct pg_record *r = p->first; r; r = r->next) /* a copy has what was written */
        if (!r->visible)
            pg_tables_apply(m->tables, r->changes);
    m->primary = false;
    m->follows = pg->primary;
    m->synced = 0;
}

void pg_promote(struct pg *pg, int machine)
{
    struct pg_machine *m = &pg->machines[machine];
    pg_advance(pg);
    require(!m->primary && m->up, "no standby to promote");
    m->primary = true;
    m->synced = m->lsn;
    m->settled = 0;
    pg->primary = machine;
    for (int n = 0; n < PG_MACHINES; n++)
        if (!pg->machines[n].primary)
            copy(pg, n);
    changed(pg);
}

void pg_follow(struct pg *pg, int machine)
{
    pg_advance(pg);
    require(machine != pg->primary, "the primary follows nobody");
    end_backends(pg, machine);
    copy(pg, machine);
    pg->machines[machine].up = true;
    pg->machines[machine].frozen = false;
    changed(pg);
}

void pg_cancel_waits(struct pg *pg)
{
    pg_advance(pg);
    for (struct pg_backend *b = pg->backends; b; b = b->next)
        pg_backend_cancel_wait(pg, b);
    changed(pg);
}

void pg_terminate(struct pg *pg, const char *node)
{
    pg_advance(pg);
    for (struct pg_backend *next, *b = pg->backends; b; b = next) {
        next = b->next;
        if (strcmp(b->node, node) != 0)
            continue;
        struct pg_link *link = b->link;
        b->link = NULL;
        if (link)
            link->backend = NULL;
        if (link)
            link->said_why = link->outstanding == 0;
        if (link)
            link->broken = true;
        pg_backend_cancel_wait(pg, b);
        pg_backend_free(pg, b);
    }
    changed(pg);
}

/* --- Rows --- */

void pg_see_owner(struct pg *pg, struct engine_owner *owner)
{
    struct pg_key key = pg_owner_key();
    struct pg_sight sight = {.committed = pg->machines[pg->primary].tables};
    struct pg_owner row;
    pg_advance(pg);
    memcpy(&row, pg_row_bytes(pg_see(&sight, PG_OWNER, &key)), sizeof row);
    *owner = row.row;
}

bool pg_see_node(struct pg *pg, const char *name, struct engine_node *node)
{
    struct pg_key key = pg_key_text(span_text(name));
    pg_advance(pg);
    struct pg_sight sight = {.committed = pg->machines[pg->primary].tables};
    const struct pg_row *row = pg_see(&sight, PG_NODES, &key);
    if (row)
        memcpy(node, pg_row_bytes(row), sizeof *node);
    return row != NULL;
}

bool pg_see_task(struct pg *pg, uint64_t id, struct store_task *task)
{
    struct pg_key key = pg_key_number(id);
    pg_advance(pg);
    struct pg_sight sight = {.committed = pg->machines[pg->primary].tables};
    const struct pg_row *submission =
                            pg_see(&sight, pg_table_index(&row_database_submissions), &key),
                        *life = pg_see(&sight, pg_table_index(&row_lives), &key);
    struct store_task all = {0};
    if (submission)
        pg_unpack(&row_database_submissions, submission, &all);
    if (life)
        pg_unpack(&row_lives, life, &all);
    *task = (struct store_task){.id = all.id,
                                .durable = all.durable,
                                .state = all.state,
                                .attempt = all.attempt,
                                .boards = all.boards};
    return submission != NULL;
}

void pg_age(struct pg *pg, uint32_t owners)
{
    struct pg_key key = pg_owner_key();
    struct pg_owner owner = {.row = {.epoch = owners, .boards = owners}};
    for (int n = 0; n < PG_MACHINES; n++)
        pg_table_put(&pg->machines[n].tables[PG_OWNER], pg_row_new(&key, &owner, sizeof owner));
}

uint64_t pg_settlings(const struct pg *pg)
{
    return pg->settlings;
}

const char *pg_taker(struct pg *pg, bool taken)
{
    pg_advance(pg);
    for (const struct pg_backend *b = pg->backends; b; b = b->next)
        if (b->machine == pg->primary && b->in_transaction &&
            (!taken || b->own[PG_OWNER].count > 0))
            return b->node;
    return NULL;
}
