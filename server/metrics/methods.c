/* Methods: the busiest have series of their own, and all others are one, "_other".
 *
 * A counter may never go down.  So a method that has its own series keeps it until another is twice
 * as busy; and as one changes sides, what it has counted by then stays with "_other", or is taken
 * off it again: `moved`. */
#include <stdlib.h>
#include <string.h>

#include "server/metrics/families.h"
#include "server/metrics/metrics.h"
#include "server/tasks/method_ranks.h"
#include "server/tasks/tasks.h"

/* Counters alone. */
struct counts {
    uint64_t done, refused, cpu_ns;
    struct times_sum times;
};
enum { COUNTS = sizeof(struct counts) / sizeof(uint64_t) };
_Static_assert(sizeof(struct counts) % sizeof(uint64_t) == 0, "it is added up as an array");

struct row {
    const char *name;
    uint64_t running, parked;
    struct counts counts;
};

enum { ROWS = METRICS_METHODS + 1 };

enum side { SIDE_NONE, SIDE_OTHER, SIDE_OWN };

struct method_board {
    uint8_t *sides; /* enum side, by index of the method: where it stood last */
    uint32_t count; /* of these */
    uint32_t own;   /* of these, SIDE_OWN */
    struct counts moved;
    struct row rows[ROWS]; /* of this writing; the last one is that of the others */
    uint32_t used;
};

struct method_board *method_board_new(void)
{
    return calloc(1, sizeof(struct method_board));
}

void method_board_free(struct method_board *b)
{
    free(b->sides);
    free(b);
}

/* `sign` 1 or -1. */
static void add(struct counts *to, const struct counts *what, uint64_t sign)
{
    uint64_t a[COUNTS], b[COUNTS];
    memcpy(a, to, sizeof a);
    memcpy(b, what, sizeof b);
    for (unsigned i = 0; i < COUNTS; i++)
        a[i] += sign * b[i];
    memcpy(to, a, sizeof a);
}

static void read_row(const struct tasks *tasks, uint32_t index, struct row *out)
{
    struct method_info info;
    tasks_method_info(tasks, index, &info);
    *out = (struct row){
        .name = info.name,
        .running = info.running,
        .parked = info.parked,
        .counts = {.done = info.done, .refused = info.busy_refused, .cpu_ns = info.cpu_ended_ns}};
    tasks_method_times(tasks, index, &out->counts.times);
}

/* --- Which methods have a series of their own --- */

static bool grow(struct method_board *b, uint32_t methods)
{
    if (methods <= b->count)
        return true;
    uint8_t *sides = realloc(b->sides, methods);
    if (!sides)
        return false;
    memset(sides + b->count, SIDE_NONE, methods - b->count);
    b->sides = sides;
    b->count = methods;
    return true;
}

static void move(struct method_board *b, const struct tasks *tasks, uint32_t index, enum side to)
{
    struct row row;
    read_row(tasks, index, &row);
    if (b->sides[index] == SIDE_OTHER)
        add(&b->moved, &row.counts, 1);
    else if (to == SIDE_OTHER)
        add(&b->moved, &row.counts, (uint64_t)-1);
    b->sides[index] = (uint8_t)to;
}

/* The least busy of those that have their own is behind `from`; NULL: none is. */
static const struct method_rank *least(const struct method_board *b, const struct method_rank *from,
                                       const struct method_rank *end)
{
    while (end > from)
        if (b->sides[(--end)->index] == SIDE_OWN)
            return end;
    return NULL;
}

static void choose(struct method_board *b, const struct tasks *tasks,
                   const struct method_rank *ranks, uint32_t count)
{
    const struct method_rank *end = ranks + count;
    for (const struct method_rank *r = ranks; r < end; r++) {
        if (b->sides[r->index] == SIDE_OWN)
            continue;
        if (b->own == ROWS - 1) {
            const struct method_rank *out = least(b, r, end);
            if (!out || r->calls / 2 <= out->calls)
                return;
            move(b, tasks, out->index, SIDE_OTHER);
            b->own--;
        }
        move(b, tasks, r->index, SIDE_OWN);
        b->own++;
    }
}

static void read_rows(struct method_board *b, const struct tasks *tasks,
                      const struct method_rank *ranks, uint32_t count)
{
    struct row other = {.name = "_other", .counts = b->moved}, row;
    b->used = 0;
    for (uint32_t i = 0; i < count; i++) {
        read_row(tasks, ranks[i].index, &row);
        if (b->sides[ranks[i].index] == SIDE_OWN) {
            b->rows[b->used++] = row;
            continue;
        }
        b->sides[ranks[i].index] = SIDE_OTHER;
        other.running += row.running;
        other.parked += row.parked;
        add(&other.counts, &row.counts, 1);
    }
    b->rows[b->used++] = other;
}

/* --- Written --- */

static const char *label(char *labels, size_t size, const struct row *row)
{
    labels[0] = '\0';
    return metrics_label(labels, size, "method", row->name);
}

/* A number of each row, `at` bytes from its begin. */
static void write_field(struct metrics_text *t, const struct method_board *b,
                        const struct metrics_family *f, size_t at)
{
    char labels[LABELS_MAX];
    metrics_begin(t, f);
    for (uint32_t i = 0; i < b->used; i++)
        metrics_count(t, f, label(labels, sizeof labels, &b->rows[i]),
                      *(const uint64_t *)((const char *)&b->rows[i] + at));
}

static void write_times(struct metrics_text *t, const struct method_board *b,
                        const struct metrics_family *f, size_t at)
{
    char labels[LABELS_MAX];
    metrics_begin(t, f);
    for (uint32_t i = 0; i < b->used; i++)
        metrics_histogram(t, f, label(labels, sizeof labels, &b->rows[i]),
                          (const struct histogram_sum *)((const char *)&b->rows[i] + at));
}

static void write_processor(struct metrics_text *t, const struct method_board *b)
{
    static const struct metrics_family f = {
        "ergon_method_processor_seconds", METRICS_COUNTER, "seconds",
        "Processor time that handlers of the method have used in this process: of a stepped one "
        "the "
        "time of its steps. Of brief ones a sample is measured and counted for all."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < b->used; i++)
        metrics_ns(t, &f, label(labels, sizeof labels, &b->rows[i]), b->rows[i].counts.cpu_ns);
}

static void write_failures(struct metrics_text *t, const struct method_board *b)
{
    static const struct metrics_family f = {
        "ergon_method_failed", METRICS_COUNTER, NULL,
        "Tasks of the method that failed at an executor or worker, by why."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < b->used; i++)
        for (unsigned k = 0; k < FAILURE_COUNT; k++) {
            label(labels, sizeof labels, &b->rows[i]);
            metrics_count(t, &f, metrics_label(labels, sizeof labels, "error", failure_names[k]),
                          b->rows[i].counts.times.failed[k]);
        }
}

static void write_rows(struct metrics_text *t, const struct method_board *b)
{
    static const struct metrics_family running = {
        "ergon_method_running", METRICS_GAUGE, NULL,
        "Tasks of the method that run; of the 200 busiest methods, the others as \"_other\"."};
    static const struct metrics_family parked = {"ergon_method_parked", METRICS_GAUGE, NULL,
                                                 "Tasks that have begun and wait for something."};
    static const struct metrics_family done = {
        "ergon_method_done", METRICS_COUNTER, NULL,
        "Tasks, and attempts of submitted ones, that were done."};
    static const struct metrics_family refused = {"ergon_method_refused", METRICS_COUNTER, NULL,
                                                  "Calls that were refused BUSY."};
    static const struct metrics_family wait = {
        "ergon_method_wait_seconds", METRICS_HISTOGRAM, "seconds",
        "Queue time: how long calls, and attempts of submitted tasks, waited for their begin. A "
        "submitted task waits from when it was due, through pauses, limits and rates. A call that "
        "its loop ran at once waited 0: of these one in 64 is measured where the method is brief, "
        "and stands for the others."};
    static const struct metrics_family run = {
        "ergon_method_run_seconds", METRICS_HISTOGRAM, "seconds",
        "How long tasks took from their begin to their end, sleeps and other waits included. Of "
        "brief methods (below 2 us) one in 64 is measured and counted for all."};

    write_field(t, b, &running, offsetof(struct row, running));
    write_field(t, b, &parked, offsetof(struct row, parked));
    write_field(t, b, &done, offsetof(struct row, counts.done));
    write_failures(t, b);
    write_field(t, b, &refused, offsetof(struct row, counts.refused));
    write_times(t, b, &wait, offsetof(struct row, counts.times.wait));
    write_times(t, b, &run, offsetof(struct row, counts.times.run));
    write_processor(t, b);
}

static void write_registry(struct metrics_text *t, const struct rpc_shared *s, uint32_t methods)
{
    uint64_t nobody = 0;
    for (uint32_t i = 0; i < methods; i++) {
        const struct method *m = registry_at(s->registry, i);
        nobody += m->no_executor || method_refuses(m) == ERGON_E_NO_WORKER;
    }
    write_one(t, "ergon_methods", METRICS_GAUGE, NULL, methods, "Methods that are known.");
    write_one(t, "ergon_methods_without_executor", METRICS_GAUGE, NULL, nobody,
              "Of these, those that no executor runs now.");
}

bool write_methods(struct metrics_text *t, const struct rpc_shared *s, struct method_board *b)
{
    uint32_t methods = registry_count(s->registry);
    struct method_rank *ranks = malloc((methods + 1) * sizeof *ranks);
    bool good = ranks && grow(b, methods);

    if (good) {
        uint32_t count = method_ranks(s->tasks, methods, false, ranks);
        choose(b, s->tasks, ranks, count);
        read_rows(b, s->tasks, ranks, count);
        write_rows(t, b);
        write_registry(t, s, methods);
    }
    free(ranks);
    return good;
}
