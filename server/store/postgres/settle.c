/* What became of units whose outcome is unknown: their connection broke, the wait of their commit
 * for the standby was cancelled or may have been ended, or another batch has their number.
 *
 * The UPDATE waits for the transaction that may still be in flight, and its own commit waits for
 * the standby, so that what its answer says is committed is replicated.  It raises `session`, so
 * that what is not committed then never will be.  A SELECT would leave that open: the old backend
 * may yet run what it has in its socket.
 *
 * The level is read when that wait is over: it ended by itself if no standby is configured then. */
#include "base/clock.h"
#include "server/store/postgres/reads.h"
#include "server/store/postgres/statements.h"

/* A settling that failed is repeated a while later. */
bool settle_is_due(const struct postgres_store *s)
{
    return s->must_settle && s->epoch && s->flight_count == 0 && clock_monotonic() >= s->retry_at;
}

bool settle_send(struct postgres_store *s)
{
    values_begin(&s->values);
    values_number(&s->values, (int64_t)s->epoch);
    if (!statement_send(s, STATEMENT_SETTLE) || !PQpipelineSync(s->link.pg))
        return false;
    values_begin(&s->values);
    return statement_send(s, STATEMENT_LEVEL) && PQpipelineSync(s->link.pg);
}

/* A count whose answer was lost is done again.  Nothing is behind it (batch_is_alone()). */
static bool is_count(const struct unit *unit)
{
    return unit->batch && unit->batch->ops[unit->from]->kind == STORE_COUNT;
}

/* Of what is committed, the level that it has to have. */
static uint8_t need_of(const struct postgres_store *s, uint64_t batch)
{
    uint8_t most = 0;
    for (uint32_t n = 0; n < s->sent_count; n++)
        if (s->sent[n].number <= batch && s->sent[n].need > most)
            most = s->sent[n].need;
    return most;
}

static void settle_units(struct postgres_store *s, uint64_t batch)
{
    while (s->sent_count > 0 && s->sent[0].number <= batch && !is_count(&s->sent[0])) {
        read_lose(&s->sent[0]);
        outcome_committed(s);
    }
    if (s->sent_count > 0)
        outcome_again(s, &s->sent[0]);
    s->committed = batch;
    s->unsure = s->must_settle = false;
}

/* The fault says why nothing is written any more. */
static void fence(struct postgres_store *s)
{
    s->fenced = true;
    s->must_settle = false;
    outcome_all(s, STORE_FENCED);
}

void settle_take(struct postgres_store *s)
{
    const struct answer *a = &s->answer;
    if (s->link.cancelled) { /* that answer proves nothing: settled once more */
        error_say(&s->fault, STORE_AWAY, s->where,
                  "somebody cancels the wait for the standby, so nothing is certain; it is asked "
                  "again");
        s->retry_at = clock_monotonic() + s->retry;
        return;
    }
    if (a->failed) {
        s->fault = a->fault;
        error_add_retry(&s->fault);
        s->fault.error = STORE_AWAY; /* what was sent has no outcome yet, so it has to wait */
        s->retry_at = clock_monotonic() + s->retry;
        s->over |= error_kind_of(a->state) == ERROR_AWAY;
        return;
    }
    if (a->found && a->batch < s->committed) {
        error_say(&s->fault, STORE_FENCED, s->where,
                  "batch %llu of this epoch was confirmed, and the server has only %llu: it is a "
                  "former primary, or a standby that was promoted without what was confirmed",
                  (unsigned long long)s->committed, (unsigned long long)a->batch);
        s->unsure = true; /* another server may have what was sent */
        fence(s);
        return;
    }
    if (a->found && a->level < need_of(s, a->batch)) {
        error_say(&s->fault, STORE_AWAY, s->where,
                  "what was written may be on this server alone, as no standby is configured any "
                  "more (synchronous_standby_names, fsync); it is asked again");
        outcome_level(s);
        s->retry_at = clock_monotonic() + s->retry;
        return;
    }
    if (a->found) {
        s->fault = (struct store_fault){0};
        s->session = a->session;
        outcome_level(s);
        settle_units(s, a->batch);
        return;
    }
    if (a->epoch < s->epoch) {
        error_say_former(&s->answer.fault, s->where, a->epoch, s->epoch);
        s->answer.failed = s->over = true;
        return;
    }
    error_say(&s->fault, STORE_FENCED, s->where, "another node owns the tasks (epoch %llu is over)",
              (unsigned long long)s->epoch);
    fence(s);
}
