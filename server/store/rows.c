#include "server/store/rows.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(type, column, f)     .kind = COLUMN_##column, .at = offsetof(struct type, f)
#define TASK(kind, f)              FIELD(store_task, kind, f)
#define QUEUE(kind, f)             FIELD(store_queue, kind, f)
#define RATE(kind, f)              FIELD(store_rate, kind, f)
#define CRON(kind, f)              FIELD(store_cron, kind, f)
#define SEM(kind, f)               FIELD(store_semaphore, kind, f)
#define HOLD(kind, f)              FIELD(store_hold, kind, f)
#define EVENT(kind, f)             FIELD(store_event, kind, f)
#define KEY(type, kind, f)         FIELD(type, kind, f), .key = KEY_PART
#define KEY_OR_NULL(type, kind, f) FIELD(type, kind, f), .key = KEY_PART_OR_NULL
#define NAMED(list, f)             TASK(NAME, f), .names = list
#define COLUMNS(c)                 .columns = c, .count = sizeof c / sizeof *c
/* The last is of a cluster. */
#define COLUMNS_AND_ONE(c) COLUMNS(c) - 1, .more = 1

/* The columns are in the order of the tables.  Times (…_at) are Unix nanoseconds, durations (…_ns)
 * nanoseconds; NULL is none, or zero.  Parameters, results and options are MessagePack.
 *
 * A column has its comments here for people with `sqlite3 FILE`, too.  A new
 * one goes behind those of its table, with the version that it brings (`since`). */

/* As it was submitted; `durable` rises when a later submission that joins the task wants more. */
#define SUBMISSION                                                                                 \
    {"id", TASK(U64, id)}, {"method", TASK(TEXT, method), .required = true},                       \
        {"tenant", TASK(TEXT, tenant)},                                                            \
        {"durable", NAMED(NAMES_DURABLE, durable), .required = true},                              \
        {"created_at", TASK(U64, created)}, {"params", TASK(BLOB, params)},                        \
        {"actor", TASK(TEXT, actor), .since = 12, .about = "of a message: TYPE/KEY"},              \
        {"reminder", TASK(TEXT, reminder), .since = 13, .about = "its name, within the actor"},    \
        {"every_ns", TASK(U64, every), .since = 13, .about = "of a reminder that comes again"},    \
    {                                                                                              \
        "batch", TASK(U64, batch), .since = 14, .about = "of which it is a member: an id"          \
    }
static const struct store_column submission_columns[] = {SUBMISSION};
const struct store_table row_submissions = {
    .table = "submissions", .order = "id", COLUMNS(submission_columns)};
static const struct store_column database_submission_columns[] = {SUBMISSION,
                                                                  {"boards", TASK(U32, boards)}};
const struct store_table row_database_submissions = {
    .table = "submissions", .order = "id", COLUMNS_AND_ONE(database_submission_columns)};

/* Of those that were submitted with options; all others have them by default. */
static const struct store_column option_columns[] = {
    {"id", TASK(U64, id)},
    {"key", TASK(TEXT, key)},
    {"coalesce_key", TASK(TEXT, coalesce)},
    {"limit_key", TASK(TEXT, limit_key)},
    {"limit_max", TASK(U32, limit)},
    {"rate_key", TASK(TEXT, rate_key)},
    {"rate_max", TASK(U32, rate)},
    {"rate_per_ns", TASK(U64, rate_per)},
    {"priority", TASK(U8, priority)},
    {"deadline_at", TASK(U64, deadline_at)},
    {"timeout_ns", TASK(U64, timeout)},
    {"retries", TASK(U32, retries)},
#define X(name, type, kind, column, comment, unsaid) {column, TASK(kind, name), .about = comment},
    JOB_POLICY(X)
#undef X
        {"after", TASK(BLOB, after),
         .about = "ids of those that must be done first, 8 bytes each, big endian"},
    {"after_any", TASK(BLOB, after_any), .about = "of those that must have ended, likewise"},
    {"limit_take", TASK(U32, take), .about = "how many permits of its limit it takes; NULL: one"},
    {"traceparent", TASK(TEXT, traceparent),
     .about = "the trace that it belongs to, as W3C Trace Context writes it"},
    {"tracestate", TASK(TEXT, tracestate)},
};
const struct store_table row_options = {.table = "options", .order = "id", COLUMNS(option_columns)};

/* Of those that have been anything but queued. */
static const struct store_column life_columns[] = {
    {"id", TASK(U64, id)},
    {"state", NAMED(NAMES_STATE, state),
     .about = "NOT NULL would make SQLite save the pages of each change"},
    {"attempt", TASK(U32, attempt), .about = "the last that was begun"},
    {"failures", TASK(U32, failures), .about = "attempts that failed"},
    {"crashes", TASK(U32, crashes), .about = "of the server, while the task ran"},
    {"cancel_asked", TASK(U8, cancel_asked),
     .about = "1: to be cancelled as soon as the attempt that runs has returned"},
    {"due_at", TASK(U64, due_at)},
    {"started_at", TASK(U64, started_at)},
    {"ended_at", TASK(U64, ended_at)},
    {"error_code", TASK(TEXT, error_code)},
    {"error_text", TASK(TEXT, error_text)},
    {"result", TASK(BLOB, result), .stays = true},
    {"losses", TASK(U32, losses),
     .about = "of workers that had it, since one of them answered: counted as for `tasks.losses`"},
    {"lost", TASK(U32, lost), .about = "how many workers they were"},
    {"ran_by", TASK(TEXT, ran_by), .since = 10},
    {"checkpoint", TASK(BLOB, checkpoint), .stays = true, .since = 14,
     .about = "what an attempt kept for the next one; none of a task that is done"},
    {"boards", TASK(U32, boards)},
};
const struct store_table row_lives = {
    .table = "lives", .order = "id", COLUMNS_AND_ONE(life_columns)};

/* Of those that are not open, and of methods that workers have offered. */
static const struct store_column queue_columns[] = {
    {"method", KEY(store_queue, TEXT, method), .required = true},
    {"paused", QUEUE(U8, paused), .about = "1: it starts nothing"},
    {"draining", QUEUE(U8, draining), .about = "1: it takes no new tasks"},
    {"offered_at", QUEUE(U64, offered_at),
     .about = "when workers last began or ceased to offer the method, to the hour"},
    {"secret", QUEUE(U8, secret), .since = 11},
};
const struct store_table store_queues = {.table = "queues",
                                         .order = "method",
                                         COLUMNS(queue_columns),
                                         .one = "queue",
                                         .named = offsetof(struct store_queue, method),
                                         .clustered = true};

/* The last starts of each rate that is in use, so that it holds across a restart; and limits whose
 * size was changed. */
static const struct store_column rate_columns[] = {
    {"id", KEY(store_rate, U64, id)},
    {"tenant", RATE(TEXT, tenant)},
    {"key", RATE(TEXT, key), .required = true},
    {"rate_max", RATE(U32, max)},
    {"per_ns", RATE(U64, per),
     .about = "-1: it is a limit, of which at most rate_max tasks run at a time"},
    {"noted_at", RATE(U64, noted_at), .about = "when this was written"},
    {"promised", RATE(U32, promised), .about = "so many more may have started since then"},
    {"starts", RATE(BLOB, starts),
     .about =
         "how long before noted_at (ns, 8 bytes), and how many then (8 bytes), the oldest first"},
};
const struct store_table store_rates = {.table = "rates",
                                        .order = "id",
                                        COLUMNS(rate_columns),
                                        .one = "rate",
                                        .named = offsetof(struct store_rate, key)};

/* Semaphores that stay, though nobody needs them. */
static const struct store_column semaphore_columns[] = {
    {"id", KEY(store_semaphore, U64, id)},
    {"tenant", SEM(TEXT, tenant)},
    {"name", SEM(TEXT, name), .required = true},
    {"permits", SEM(U32, permits)},
};
const struct store_table store_semaphores = {.table = "semaphores",
                                             .order = "id",
                                             COLUMNS(semaphore_columns),
                                             .one = "semaphore",
                                             .named = offsetof(struct store_semaphore, name)};

/* What clients hold of durable semaphores; the number is the fence. */
static const struct store_column hold_columns[] = {
    {"id", KEY(store_hold, U64, id)},
    {"tenant", HOLD(TEXT, tenant)},
    {"name", HOLD(TEXT, name), .required = true},
    {"secret", HOLD(BLOB, secret)},
    {"principal", HOLD(TEXT, principal)},
    {"permits", HOLD(U32, permits)},
    {"of_permits", HOLD(U32, of), .about = "how many the semaphore has"},
    {"since_at", HOLD(U64, since_at)},
    {"ends_at", HOLD(U64, ends_at), .about = "when it is taken back in any case"},
    {"ttl_ns", HOLD(U64, ttl)},
    {"grace_ns", HOLD(U64, grace), .about = "how long it stays without a connection"},
};
const struct store_table store_holds = {.table = "holds",
                                        .order = "id",
                                        COLUMNS(hold_columns),
                                        .one = "hold",
                                        .named = offsetof(struct store_hold, name),
                                        .fences = true};

static const struct store_column cron_columns[] = {
    {"id", CRON(U64, id)},
    {"tenant", KEY_OR_NULL(store_cron, TEXT, tenant)},
    {"name", KEY(store_cron, TEXT, name), .required = true, .about = "each tenant's once"},
    {"schedule", CRON(TEXT, schedule)},
    {"zone", CRON(TEXT, zone)},
    {"method", CRON(TEXT, method)},
    {"made_by", CRON(TEXT, made_by), .about = "the principal that put it"},
    {"next_at", CRON(U64, next_at)},
    {"last_at", CRON(U64, last_at)},
    {"last_task", CRON(U64, last_task)},
    {"params", CRON(BLOB, params)},
    {"options", CRON(BLOB, options)},
    {"paused", CRON(U8, paused), .about = "1: it submits nothing"},
};
const struct store_table store_crons = {.table = "crons",
                                        .order = "id",
                                        COLUMNS(cron_columns),
                                        .one = "cron",
                                        .named = offsetof(struct store_cron, name),
                                        .durable = offsetof(struct store_cron, durable),
                                        .unique = "cron_names"};

static const struct store_column cron_state_columns[] = {
    {"next_at", CRON(U64, next_at)},       {"last_at", CRON(U64, last_at)},
    {"last_task", CRON(U64, last_task)},   {"paused", CRON(U8, paused)},
    {"name", KEY(store_cron, TEXT, name)}, {"tenant", KEY_OR_NULL(store_cron, TEXT, tenant)},
};
const struct store_table store_cron_states = {.table = "crons",
                                              .order = "id",
                                              COLUMNS(cron_state_columns),
                                              .durable = offsetof(struct store_cron, durable),
                                              .updates = true};

static const struct store_column node_board_columns[] = {
    {"board", FIELD(store_node_board, U64, board)},
    {"node", KEY(store_node_board, TEXT, node)},
};
const struct store_table store_node_boards = {.table = "nodes",
                                              .order = "node",
                                              COLUMNS(node_board_columns),
                                              .one = "node",
                                              .named = offsetof(struct store_node_board, node),
                                              .updates = true,
                                              .cluster = true};

/* One row for each actor of a type that is durable. */
static const struct store_column actor_columns[] = {
    {"type", KEY(store_actor, TEXT, type), .required = true, .since = 12},
    {"key", KEY(store_actor, TEXT, key), .required = true, .since = 12},
    {"tenant", FIELD(store_actor, TEXT, tenant), .key = KEY_PART_OR_EMPTY, .since = 12,
     .about = "'': of no tenant"},
    {"version", FIELD(store_actor, U64, version), .since = 12,
     .about = "how often its state was changed"},
    {"schema", FIELD(store_actor, U32, schema), .since = 12, .about = "of the state"},
    {"changed_at", FIELD(store_actor, U64, changed_at), .since = 12},
    {"stopped_at", FIELD(store_actor, U64, stopped_at), .since = 12},
    {"stopped", FIELD(store_actor, TEXT, stopped), .since = 12,
     .about = "why it is stopped; NULL: it is not"},
    {"state", FIELD(store_actor, BLOB, state), .since = 12},
};
const struct store_table store_actors = {.table = "actors",
                                         .order = "type, key, tenant",
                                         COLUMNS(actor_columns),
                                         .one = "actor",
                                         .named = offsetof(struct store_actor, key),
                                         .clustered = true,
                                         .of_actors = true,
                                         .by_key = true};

#define TURN(kind, f) FIELD(store_turn, kind, f), .since = 12
static const struct store_column turn_columns[] = {
    {"seq", TURN(U64, seq), .key = KEY_PART},
    {"type", TURN(TEXT, actor.type), .required = true},
    {"key", TURN(TEXT, actor.key), .required = true},
    {"tenant", TURN(TEXT, actor.tenant), .key = KEY_PART_OR_EMPTY},
    {"version", TURN(U64, actor.version)},
    {"schema", TURN(U32, actor.schema)},
    {"changed_at", TURN(U64, actor.changed_at)},
    {"stopped_at", TURN(U64, actor.stopped_at)},
    {"stopped", TURN(TEXT, actor.stopped)},
    {"gone", TURN(U8, gone), .about = "1: the actor was removed"},
    {"state", TURN(BLOB, actor.state)},
};
const struct store_table row_turns = {.table = "turns", .order = "seq", COLUMNS(turn_columns)};

static const struct store_column inbox_columns[] = {
    {"id", KEY(store_inbox_row, U64, id)},
};
const struct store_table store_inbox = {
    .table = "inbox", .order = "id", COLUMNS(inbox_columns), .one = "submission", .cluster = true};

static const struct store_column actor_type_columns[] = {
    {"type", KEY(store_actor_type, TEXT, type), .required = true, .since = 12},
    {"policy", FIELD(store_actor_type, BLOB, policy), .since = 12,
     .about = "as the type was registered last"},
};
const struct store_table store_actor_types = {.table = "actor_types",
                                              .order = "type",
                                              COLUMNS(actor_type_columns),
                                              .one = "type of actors",
                                              .named = offsetof(struct store_actor_type, type),
                                              .clustered = true,
                                              .of_actors = true};

#define BATCH(kind, f) FIELD(store_batch_row, kind, f), .since = 14
static const struct store_column batch_columns[] = {
    {"id", BATCH(U64, id), .key = KEY_PART},
    {"tenant", BATCH(TEXT, tenant)},
    {"parent", BATCH(U64, parent), .about = "the batch of which it is a member"},
    {"durable", BATCH(NAME, durable), .names = NAMES_DURABLE, .required = true},
    {"closed", BATCH(U8, closed), .about = "1: it ends with its last member"},
    {"cancel_asked", BATCH(U8, cancel_asked), .about = "1: its members are cancelled"},
    {"created_at", BATCH(U64, created)},
    {"ended_at", BATCH(U64, ended_at)},
    {"keep_ns", BATCH(U64, keep), .about = "after its end"},
    {"done", BATCH(U64, done),
     .about = "this and the next four: of members whose rows are gone; if it has ended, of all"},
    {"failed", BATCH(U64, failed)},
    {"cancelled", BATCH(U64, cancelled)},
    {"expired", BATCH(U64, expired)},
    {"dead", BATCH(U64, dead)},
    {"success_task", BATCH(U64, success_task), .about = "what was submitted of on_success: an id"},
    {"failure_task", BATCH(U64, failure_task)},
    {"end_task", BATCH(U64, end_task)},
    {"on_success", BATCH(BLOB, on_success), .about = "method, parameters and options"},
    {"on_failure", BATCH(BLOB, on_failure)},
    {"on_end", BATCH(BLOB, on_end)},
};
const struct store_table store_batches = {.table = "batches",
                                          .order = "id",
                                          COLUMNS(batch_columns),
                                          .one = "batch",
                                          .named = offsetof(struct store_batch_row, tenant),
                                          .durable = offsetof(struct store_batch_row, durable)};

_Static_assert(sizeof(struct store_cron) <= STORE_ROW_MAX &&
                   sizeof(struct store_batch_row) <= STORE_ROW_MAX &&
                   sizeof(struct store_hold) <= STORE_ROW_MAX &&
                   sizeof(struct store_rate) <= STORE_ROW_MAX &&
                   sizeof(struct store_semaphore) <= STORE_ROW_MAX &&
                   sizeof(struct store_queue) <= STORE_ROW_MAX &&
                   sizeof(struct store_actor) <= STORE_ROW_MAX,
               "an operation has room for each row");

static const struct store_column event_columns[] = {
    {"task", EVENT(U64, id), .required = true},
    {"seq", EVENT(U32, seq), .required = true},
    {"at", EVENT(U64, at)},
    {"attempt", EVENT(U32, attempt)},
    {"what", EVENT(TEXT, what)},
    {"text", EVENT(TEXT, text),
     .about = "of \"waiting\" and \"delayed\": the reason; of \"submitted\": how many submissions "
              "share the run"},
    {"data", EVENT(BLOB, data)},
};
const struct store_table row_events = {
    .table = "events", .order = "task, seq", COLUMNS(event_columns), .clustered = true};

/* submitted = done + failed + cancelled + expired + dead + the rows of `tasks` that are open. */
#define COUNTER(f) #f, FIELD(row_counters, U64, f)
static const struct store_column counter_columns[] = {
    {COUNTER(submitted), .required = true},
    {COUNTER(done), .required = true},
    {COUNTER(failed), .required = true},
    {COUNTER(cancelled), .required = true},
    {COUNTER(expired), .required = true},
    {COUNTER(dead), .required = true},
    {COUNTER(last_id), .required = true, .about = "the highest that `tasks` ever had"},
    {COUNTER(commits), .required = true},
    {COUNTER(committed_at), .about = "the time of the last commit, by the clock of then"},
    {COUNTER(last_fence), .about = "the highest that a row of `holds` ever had"}};
const struct store_table row_counters = {
    .table = "counters", .order = "submitted", COLUMNS(counter_columns), .one_row = true};

const struct store_table *const row_tables[ROW_TABLES] = {
    &row_submissions, &row_options,       &row_lives,        &row_events,  &store_crons,
    &store_queues,    &store_rates,       &store_semaphores, &store_holds, &store_actors,
    &row_turns,       &store_actor_types, &store_batches,    &row_counters};
const struct store_table *const row_database_tables[ROW_DATABASE_TABLES] = {
    &row_database_submissions,
    &row_options,
    &row_lives,
    &row_events,
    &store_crons,
    &store_queues,
    &store_rates,
    &store_semaphores,
    &store_holds,
    &store_actors,
    &store_actor_types,
    &store_batches,
    &row_counters};

/* By enum job_durable.  Nodes of the version before cannot load a new name here, or of a state: it
 * is written from `ergon cluster upgrade --finish` on (tests/cluster/newer.faults plants one that
 * is). */
static const char *const durable_names[] = {"none", "async", "fsync", "replicated"};

struct row_names row_names_of(const char *const *states, uint32_t state_count)
{
    return (struct row_names){
        .lists = {[NAMES_STATE] = {states, state_count},
                  [NAMES_DURABLE] = {durable_names, sizeof durable_names / sizeof *durable_names}}};
}

/* Looks at the field of each of life_columns. */
bool row_has_life(const struct store_task *t)
{
    return t->state || t->attempt || t->failures || t->crashes || t->cancel_asked || t->due_at ||
           t->started_at || t->ended_at || t->error_code.len || t->error_text.len ||
           t->result.len || t->losses || t->lost || t->ran_by.len || t->checkpoint.len;
}

bool row_counters_sound(const struct row_counters *c)
{
    const uint64_t counts[] = {c->done, c->failed,    c->cancelled, c->expired,
                               c->dead, c->submitted, c->last_id,   c->commits};
    enum { ENDS = 5 };
    uint64_t ended = 0;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        ended += n < ENDS ? counts[n] : 0;
        if (counts[n] > STORE_COUNT_MAX || ended > STORE_COUNT_MAX)
            return false;
    }
    return c->last_fence <= STORE_FENCE_MAX;
}

size_t row_field_size(enum column_kind kind)
{
    switch (kind) {
    case COLUMN_U64:
        return sizeof(uint64_t);
    case COLUMN_U32:
        return sizeof(uint32_t);
    case COLUMN_U8:
    case COLUMN_NAME:
        return sizeof(uint8_t);
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return sizeof(struct span);
    }
    return 0;
}

bool row_is_null(const struct store_column *c, const void *row)
{
    const void *field = (const char *)row + c->at;
    switch (c->kind) {
    case COLUMN_U64:
        return *(const uint64_t *)field == 0;
    case COLUMN_U32:
        return *(const uint32_t *)field == 0;
    case COLUMN_U8:
        return *(const uint8_t *)field == 0;
    case COLUMN_TEXT:
    case COLUMN_BLOB:
        return ((const struct span *)field)->len == 0;
    case COLUMN_NAME:
        break;
    }
    return false;
}

static bool is_text(const struct store_column *c)
{
    return c->kind == COLUMN_TEXT || c->kind == COLUMN_BLOB;
}

static size_t size_of_spans(const struct store_table *t, const uint8_t *row)
{
    size_t size = 0;
    for (uint32_t n = 0; n < t->count; n++)
        if (is_text(&t->columns[n]) && t->columns[n].key == KEY_NONE)
            size += ((const struct span *)(row + t->columns[n].at))->len;
    return size;
}

bool row_take(struct store_op *get, const void *row)
{
    const uint8_t *from = row;
    size_t size = size_of_spans(get->table, from);
    uint8_t *to = size > 0 ? realloc(get->bytes, size) : get->bytes;
    if (size > 0 && !to)
        return false;
    get->bytes = to;
    get->found = true;
    for (uint32_t n = 0; n < get->table->count; n++) {
        const struct store_column *c = &get->table->columns[n];
        if (c->key != KEY_NONE)
            continue;
        memcpy(get->row + c->at, from + c->at, row_field_size(c->kind));
        struct span *field = (struct span *)(get->row + c->at);
        if (!is_text(c) || field->len == 0)
            continue;
        memcpy(to, field->at, field->len);
        *field = span_of(to, field->len);
        to += field->len;
    }
    return true;
}
