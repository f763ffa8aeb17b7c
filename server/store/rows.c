#include "server/store/rows.h"

#define TASK(kind, f)      COLUMN_##kind, offsetof(struct store_task, f), 0, false, KEY_NONE
#define QUEUE(kind, f)     COLUMN_##kind, offsetof(struct store_queue, f), 0, false, KEY_NONE
#define RATE(kind, f)      COLUMN_##kind, offsetof(struct store_rate, f), 0, false, KEY_NONE
#define CRON(kind, f)      COLUMN_##kind, offsetof(struct store_cron, f), 0, false, KEY_NONE
#define SEM(kind, f)       COLUMN_##kind, offsetof(struct store_semaphore, f), 0, false, KEY_NONE
#define HOLD(kind, f)      COLUMN_##kind, offsetof(struct store_hold, f), 0, false, KEY_NONE
#define EVENT(kind, f)     COLUMN_##kind, offsetof(struct store_event, f), 0, false, KEY_NONE
#define KEY(type, kind, f) COLUMN_##kind, offsetof(struct type, f), 0, false, KEY_PART
#define KEY_OR_NULL(type, kind, f)                                                                 \
    COLUMN_##kind, offsetof(struct type, f), 0, false, KEY_PART_OR_NULL
#define NAMED(list, f) COLUMN_NAME, offsetof(struct store_task, f), list, false, KEY_NONE
#define MAP(t, o, c)                                                                               \
    {                                                                                              \
        .table = t, .order = o, .columns = c, .count = sizeof c / sizeof *c                        \
    }

#define ROWS(t, o, c, a, n)                                                                        \
    {                                                                                              \
        .table = t, .order = o, .columns = c, .count = sizeof c / sizeof *c, .one = a, .named = n  \
    }

/* The columns are in the order of the tables, which spares PUT a copy. */
static const struct store_column submission_columns[] = {
    {"id", TASK(U64, id)},
    {"method", TASK(TEXT, method)},
    {"tenant", TASK(TEXT, tenant)},
    {"durable", NAMED(NAMES_DURABLE, durable)},
    {"created_at", TASK(U64, created)},
    {"params", TASK(BLOB, params)},
};
const struct store_table row_submissions = MAP("submissions", "id", submission_columns);

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
#define X(name, type, kind, column, unsaid) {column, TASK(kind, name)},
    JOB_POLICY(X)
#undef X
        {"after", TASK(BLOB, after)},
    {"after_any", TASK(BLOB, after_any)},
    {"limit_take", TASK(U32, take)},
    {"traceparent", TASK(TEXT, traceparent)},
    {"tracestate", TASK(TEXT, tracestate)},
};
const struct store_table row_options = MAP("options", "id", option_columns);

static const struct store_column life_columns[] = {
    {"id", TASK(U64, id)},
    {"state", NAMED(NAMES_STATE, state)},
    {"attempt", TASK(U32, attempt)},
    {"failures", TASK(U32, failures)},
    {"crashes", TASK(U32, crashes)},
    {"cancel_asked", TASK(U8, cancel_asked)},
    {"due_at", TASK(U64, due_at)},
    {"started_at", TASK(U64, started_at)},
    {"ended_at", TASK(U64, ended_at)},
    {"error_code", TASK(TEXT, error_code)},
    {"error_text", TASK(TEXT, error_text)},
    {"result", COLUMN_BLOB, offsetof(struct store_task, result), 0, true, KEY_NONE},
    {"losses", TASK(U32, losses)},
    {"lost", TASK(U32, lost)},
    {"ran_by", TASK(TEXT, ran_by)},
};
const struct store_table row_lives = MAP("lives", "id", life_columns);

static const struct store_column queue_columns[] = {
    {"method", KEY(store_queue, TEXT, method)},
    {"paused", QUEUE(U8, paused)},
    {"draining", QUEUE(U8, draining)},
    {"offered_at", QUEUE(U64, offered_at)},
    {"secret", QUEUE(U8, secret)},
};
const struct store_table store_queues =
    ROWS("queues", "method", queue_columns, "queue", offsetof(struct store_queue, method));

static const struct store_column rate_columns[] = {
    {"id", KEY(store_rate, U64, id)},  {"tenant", RATE(TEXT, tenant)},
    {"key", RATE(TEXT, key)},          {"rate_max", RATE(U32, max)},
    {"per_ns", RATE(U64, per)},        {"noted_at", RATE(U64, noted_at)},
    {"promised", RATE(U32, promised)}, {"starts", RATE(BLOB, starts)},
};
const struct store_table store_rates =
    ROWS("rates", "id", rate_columns, "rate", offsetof(struct store_rate, key));

static const struct store_column semaphore_columns[] = {
    {"id", KEY(store_semaphore, U64, id)},
    {"tenant", SEM(TEXT, tenant)},
    {"name", SEM(TEXT, name)},
    {"permits", SEM(U32, permits)},
};
const struct store_table store_semaphores = ROWS("semaphores", "id", semaphore_columns, "semaphore",
                                                 offsetof(struct store_semaphore, name));

static const struct store_column hold_columns[] = {
    {"id", KEY(store_hold, U64, id)},     {"tenant", HOLD(TEXT, tenant)},
    {"name", HOLD(TEXT, name)},           {"secret", HOLD(BLOB, secret)},
    {"principal", HOLD(TEXT, principal)}, {"permits", HOLD(U32, permits)},
    {"of_permits", HOLD(U32, of)},        {"since_at", HOLD(U64, since_at)},
    {"ends_at", HOLD(U64, ends_at)},      {"ttl_ns", HOLD(U64, ttl)},
    {"grace_ns", HOLD(U64, grace)},
};
const struct store_table store_holds = {.table = "holds",
                                        .order = "id",
                                        .columns = hold_columns,
                                        .count = sizeof hold_columns / sizeof *hold_columns,
                                        .one = "hold",
                                        .named = offsetof(struct store_hold, name),
                                        .fences = true};

static const struct store_column cron_columns[] = {
    {"id", CRON(U64, id)},
    {"tenant", KEY_OR_NULL(store_cron, TEXT, tenant)},
    {"name", KEY(store_cron, TEXT, name)},
    {"schedule", CRON(TEXT, schedule)},
    {"zone", CRON(TEXT, zone)},
    {"method", CRON(TEXT, method)},
    {"made_by", CRON(TEXT, made_by)},
    {"next_at", CRON(U64, next_at)},
    {"last_at", CRON(U64, last_at)},
    {"last_task", CRON(U64, last_task)},
    {"params", CRON(BLOB, params)},
    {"options", CRON(BLOB, options)},
    {"paused", CRON(U8, paused)},
};
const struct store_table store_crons =
    ROWS("crons", "id", cron_columns, "cron", offsetof(struct store_cron, name));

static const struct store_column cron_state_columns[] = {
    {"next_at", CRON(U64, next_at)},       {"last_at", CRON(U64, last_at)},
    {"last_task", CRON(U64, last_task)},   {"paused", CRON(U8, paused)},
    {"name", KEY(store_cron, TEXT, name)}, {"tenant", KEY_OR_NULL(store_cron, TEXT, tenant)},
};
const struct store_table store_cron_states = {.table = "crons",
                                              .order = "id",
                                              .columns = cron_state_columns,
                                              .count = sizeof cron_state_columns /
                                                       sizeof *cron_state_columns,
                                              .updates = true};

static const struct store_column node_board_columns[] = {
    {"board", COLUMN_U64, offsetof(struct store_node_board, board), 0, false, KEY_NONE},
    {"node", KEY(store_node_board, TEXT, node)},
};
const struct store_table store_node_boards = {.table = "nodes",
                                              .order = "node",
                                              .columns = node_board_columns,
                                              .count = sizeof node_board_columns /
                                                       sizeof *node_board_columns,
                                              .one = "node",
                                              .named = offsetof(struct store_node_board, node),
                                              .updates = true,
                                              .cluster = true};

_Static_assert(sizeof(struct store_cron) <= STORE_ROW_MAX &&
                   sizeof(struct store_hold) <= STORE_ROW_MAX &&
                   sizeof(struct store_rate) <= STORE_ROW_MAX &&
                   sizeof(struct store_semaphore) <= STORE_ROW_MAX &&
                   sizeof(struct store_queue) <= STORE_ROW_MAX,
               "an operation has room for each row");

static const struct store_column event_columns[] = {
    {"task", EVENT(U64, id)},         {"seq", EVENT(U32, seq)},    {"at", EVENT(U64, at)},
    {"attempt", EVENT(U32, attempt)}, {"what", EVENT(TEXT, what)}, {"text", EVENT(TEXT, text)},
    {"data", EVENT(BLOB, data)},
};
const struct store_table row_events = MAP("events", "task, seq", event_columns);

#define COUNTER(f)                                                                                 \
    {                                                                                              \
#f, COLUMN_U64, offsetof(struct row_counters, f), 0, false, KEY_NONE                       \
    }
static const struct store_column counter_columns[] = {
    COUNTER(submitted),    COUNTER(done),      COUNTER(failed),  COUNTER(cancelled),
    COUNTER(expired),      COUNTER(dead),      COUNTER(last_id), COUNTER(commits),
    COUNTER(committed_at), COUNTER(last_fence)};
const struct store_table row_counters = MAP("counters", "submitted", counter_columns);

/* By enum job_durable. */
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
           t->result.len || t->losses || t->lost || t->ran_by.len;
}
