/* What is under way on the writer's connection: units, settlings and looks, each answered in turn.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/store/postgres/reads.h"
#include "server/store/postgres/statements.h"

/* Once no standby is configured, PostgreSQL ends the waits of all commits without a notice.  One
 * that had to be replicated and took so long is settled, which looks whether one still is. */
#define DOUBTED AO_S(1)

static void note_flight(struct postgres_store *s, enum flight flight)
{
    assert(s->flight_count < FLIGHTS);
    if (s->flight_count == 0)
        s->asked_at = clock_monotonic();
    s->flights[s->flight_count++] = flight;
    s->flushed = false;
}

/* --- To send --- */

/* Where the next unit begins, if there is one. */
static struct store_batch *next_of(const struct postgres_store *s)
{
    return s->next_batch < s->begun_count ? s->begun[s->next_batch].batch : NULL;
}

static void go_on(struct postgres_store *s, uint32_t count)
{
    s->next_op += count;
    if (s->next_op < s->begun[s->next_batch].batch->count)
        return;
    s->next_batch++;
    s->next_op = 0;
}

static bool send_unit(struct postgres_store *s, struct store_batch *batch)
{
    struct unit unit = {.batch = batch, .number = s->committed + s->sent_count + 1};
    if (batch) {
        unit.from = s->next_op;
        unit.count = batch_unit(s, batch, unit.from, halve_most(s, batch, unit.from));
    }
    if (!batch_send(s, &unit))
        return false;
    s->sent[s->sent_count++] = unit;
    note_flight(s, FLIGHT_UNIT);
    if (batch)
        go_on(s, unit.count);
    return true;
}

/* What was refused is looked for with one unit at a time. */
static uint32_t units_now(const struct postgres_store *s)
{
    return s->suspects.batch || s->broken != STORE_OK ? 1 : UNITS;
}

static bool send_units(struct postgres_store *s)
{
    while (s->sent_count < units_now(s) && next_of(s) &&
           (s->sent_count == 0 || !batch_is_alone(&s->sent[s->sent_count - 1]))) {
        struct store_batch *batch = next_of(s);
        enum store_error refusal = batch_refusal(s, batch, batch->ops[s->next_op]);
        if (refusal == STORE_OK && !send_unit(s, batch))
            return false;
        if (refusal != STORE_OK && s->sent_count > 0)
            return true; /* what was sent may be sent again, and this behind it */
        if (refusal != STORE_OK)
            outcome_next(s, refusal);
    }
    return true;
}

/* It has no result while another session has locked a table, and is repeated some time. */
static bool send_look(struct postgres_store *s)
{
    values_begin(&s->values);
    if (!statement_send(s, STATEMENT_HURRY) || !statement_send(s, STATEMENT_LOOK) ||
        !PQpipelineSync(s->link.pg))
        return false;
    s->look_wanted = false;
    note_flight(s, FLIGHT_LOOK);
    return true;
}

bool flight_send(struct postgres_store *s)
{
    if (s->discards || s->fenced)
        return true;
    if (settle_is_due(s)) {
        if (!settle_send(s))
            return false;
        note_flight(s, FLIGHT_SETTLE);
    }
    if (!s->must_settle && s->broken == STORE_OK && !send_units(s))
        return false;
    if (s->look_wanted && s->flight_count == 0 && !send_look(s))
        return false;
    s->flushed = PQflush(s->link.pg) == 0;
    return true;
}

bool flight_try(struct postgres_store *s)
{
    return s->flight_count > 0 || s->must_settle || send_unit(s, NULL);
}

/* --- To receive --- */

static void take_error(struct postgres_store *s, const PGresult *r)
{
    struct answer *a = &s->answer;
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    if (a->failed)
        return;
    a->failed = true;
    snprintf(a->state, sizeof a->state, "%s", state ? state : "");
    error_of_result(&a->fault, s->where, r);
}

static uint64_t number_at(const PGresult *r, int column)
{
    return PQgetisnull(r, 0, column)
               ? 0
               : value_number(PQgetvalue(r, 0, column), PQgetlength(r, 0, column));
}

static void take_look(struct postgres_store *s, const PGresult *r)
{
    if (PQnfields(r) != 3) /* that of STATEMENT_HURRY */
        return;
    s->state.bytes = number_at(r, 0);
    s->state.lag = number_at(r, 1);
    s->state.keeps_actors |= number_at(r, 2) >= ACTORS_SINCE;
    s->state.keeps_batches |= number_at(r, 2) >= BATCHES_SINCE;
}

static void take_settling(struct postgres_store *s, const PGresult *r)
{
    struct answer *a = &s->answer;
    if (a->settled) {
        a->level = (enum store_level)number_at(r, 0);
        return;
    }
    a->session = number_at(r, 0);
    a->found = a->session > 0;
    a->batch = number_at(r, 1);
    a->epoch = number_at(r, 2);
}

static void take_unit_row(struct postgres_store *s, const PGresult *r)
{
    struct answer *a = &s->answer;
    const struct unit *unit = s->sent_count > 0 ? &s->sent[0] : NULL;
    if (s->discards || s->must_settle || !unit)
        return;
    if (!a->found) { /* the fence's */
        a->found = true;
        a->level = (enum store_level)number_at(r, 0);
    } else if (unit->batch && unit->batch->ops[unit->from]->kind == STORE_COUNT) {
        batch_take_count(unit->batch->ops[unit->from], r);
    }
}

static void take_row(struct postgres_store *s, const PGresult *r)
{
    switch (s->flights[0]) {
    case FLIGHT_UNIT:
        take_unit_row(s, r);
        return;
    case FLIGHT_LOOK:
        take_look(s, r);
        return;
    case FLIGHT_SETTLE:
        take_settling(s, r);
        return;
    }
}

static bool is_doubted(const struct unit *unit)
{
    return unit->need > 0 && clock_monotonic() - unit->sent_at >= DOUBTED;
}

/* A unit is committed when its end has come soon, without an error and without the notice that
 * nobody waited for the standby. */
static void take_unit(struct postgres_store *s)
{
    struct answer *a = &s->answer;
    if (s->discards || s->must_settle)
        return;
    if (!a->failed && !s->link.cancelled && !is_doubted(&s->sent[0]))
        outcome_committed(s);
    else if (a->failed && error_kind_of(a->state) != ERROR_NUMBER &&
             error_kind_of(a->state) != ERROR_AWAY)
        outcome_failed(s);
    else
        s->must_settle = true;
    s->unsure |= s->must_settle && !a->failed;
    s->over |= a->failed && error_kind_of(a->state) == ERROR_AWAY;
}

static void take_end(struct postgres_store *s)
{
    enum flight flight = s->flights[0];
    s->answers++;
    s->asked_at = clock_monotonic();
    if (s->silent)
        s->fault = (struct store_fault){0};
    s->silent = false;
    s->flight_count--;
    memmove(s->flights, s->flights + 1, s->flight_count * sizeof *s->flights);
    if (flight == FLIGHT_UNIT)
        take_unit(s);
    else if (flight == FLIGHT_SETTLE)
        settle_take(s);
    if (s->over) /* its answer says why */
        return;
    s->answer = (struct answer){0};
    s->link.cancelled = false;
    if (s->flight_count == 0)
        s->discards = false;
}

static void take(struct postgres_store *s, const PGresult *r)
{
    switch (PQresultStatus(r)) {
    case PGRES_PIPELINE_SYNC:
        if (s->flights[0] == FLIGHT_SETTLE && !s->answer.settled)
            s->answer.settled = true;
        else
            take_end(s);
        return;
    case PGRES_FATAL_ERROR:
        take_error(s, r);
        return;
    case PGRES_TUPLES_OK:
        if (s->flights[0] == FLIGHT_UNIT && read_is_answer(r))
            read_take(s, r);
        else if (PQntuples(r) == 1)
            take_row(s, r);
        return;
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_ABORTED:
        return;
    }
}

bool flight_receive(struct postgres_store *s)
{
    PGconn *pg = s->link.pg;
    int unsent = PQflush(pg);
    if (unsent < 0 || !PQconsumeInput(pg))
        return false;
    s->flushed = unsent == 0;
    while (s->flight_count > 0 && !PQisBusy(pg)) {
        PGresult *r = PQgetResult(pg);
        if (r)
            take(s, r);
        bool broke = s->over || PQstatus(pg) == CONNECTION_BAD;
        PQclear(r);
        if (broke)
            return false;
    }
    return PQstatus(pg) == CONNECTION_OK;
}
