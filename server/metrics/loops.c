/* Loops, and what comes in and goes out by them. */
#include <ctype.h>
#include <stdio.h>

#include "server/metrics/families.h"
#include "server/runtime/activator.h"

static char *loop_label(char *labels, size_t size, const struct rpc_shared *s, uint32_t i)
{
    labels[0] = '\0';
    return metrics_label(labels, size, "loop", activator_name(s->loops[i]));
}

/* A field of struct activator_stats, of each loop. */
static void write_loop_field(struct metrics_text *t, const struct rpc_shared *s, const char *name,
                             enum metrics_type type, size_t field, const char *help)
{
    const struct metrics_family f = {name, type, NULL, help};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < s->loop_count; i++) {
        struct activator_stats a;
        activator_stats(s->loops[i], &a);
        metrics_count(t, &f, loop_label(labels, sizeof labels, s, i),
                      *(const uint64_t *)((const char *)&a + field));
    }
}

static void write_rounds(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family lag = {
        "ergon_loop_lag_seconds", METRICS_HISTOGRAM, "seconds",
        "How long rounds of the loop took without the wait at their end: so long a new event waits "
        "at most. Each round counts."};
    static const struct metrics_family busy = {
        "ergon_loop_busy_seconds", METRICS_COUNTER, "seconds",
        "Time that the loop was at work; its rate is the share of its thread that is used."};
    char labels[LABELS_MAX];

    metrics_begin(t, &lag);
    for (uint32_t i = 0; i < s->loop_count; i++) {
        struct histogram_sum took = {0};
        activator_rounds_took(s->loops[i], &took);
        metrics_histogram(t, &lag, loop_label(labels, sizeof labels, s, i), &took);
    }
    metrics_begin(t, &busy);
    for (uint32_t i = 0; i < s->loop_count; i++) {
        struct histogram_sum took = {0};
        activator_rounds_took(s->loops[i], &took);
        metrics_ns(t, &busy, loop_label(labels, sizeof labels, s, i), took.sum_ns);
    }
}

static void write_longest(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family f = {"ergon_loop_longest_step_seconds", METRICS_GAUGE,
                                            "seconds",
                                            "No step of the loop took longer, in the last minute."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < s->loop_count; i++)
        metrics_ns(t, &f, loop_label(labels, sizeof labels, s, i),
                   activator_longest_step_lately(s->loops[i]));
}

static void write_stuck(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family f = {
        "ergon_loop_stuck", METRICS_GAUGE, NULL,
        "1 while a step of the loop takes longer than the step limit, else 0."};
    char labels[LABELS_MAX];
    ao_time since;

    metrics_begin(t, &f);
    for (uint32_t i = 0; i < s->loop_count; i++)
        metrics_count(t, &f, loop_label(labels, sizeof labels, s, i),
                      activator_stuck(s->loops[i], &since) != NULL);
}

void write_loops(struct metrics_text *t, const struct rpc_shared *s)
{
#define FIELD(name) offsetof(struct activator_stats, name)
    write_loop_field(t, s, "ergon_loop_rounds", METRICS_COUNTER, FIELD(rounds),
                     "Rounds of the loop.");
    write_loop_field(t, s, "ergon_loop_steps", METRICS_COUNTER, FIELD(steps),
                     "Steps of active objects.");
    write_loop_field(t, s, "ergon_loop_long_steps", METRICS_COUNTER, FIELD(long_steps),
                     "Steps that took longer than the step limit.");
    write_loop_field(t, s, "ergon_loop_blocks", METRICS_COUNTER, FIELD(blocks),
                     "Waits of the loop in its poller.");
    write_loop_field(t, s, "ergon_loop_wakes_sent", METRICS_COUNTER, FIELD(wakes_sent),
                     "Other threads that the loop woke.");
    write_loop_field(t, s, "ergon_loop_active_objects", METRICS_GAUGE, FIELD(active),
                     "Objects that are active.");
    write_loop_field(t, s, "ergon_loop_sleeping_objects", METRICS_GAUGE, FIELD(sleeping),
                     "Objects that wait for a deadline.");
#undef FIELD
    write_rounds(t, s);
    write_longest(t, s);
    write_stuck(t, s);
}

static void write_states(struct metrics_text *t, const struct net_loop_stats *n)
{
    static const struct metrics_family states = {"ergon_connections", METRICS_GAUGE, NULL,
                                                 "Connections that are there, by their state."};
    static const struct metrics_family kinds = {
        "ergon_listener_connections", METRICS_GAUGE, NULL,
        "Connections that are there, by the kind of their listener."};
    char labels[LABELS_MAX], name[32];

    metrics_begin(t, &states);
    for (unsigned i = 0; i < CONN_STATE_COUNT; i++) {
        unsigned k = 0;
        for (; conn_state_names[i][k] && k + 1 < sizeof name; k++)
            name[k] = (char)tolower((unsigned char)conn_state_names[i][k]);
        name[k] = labels[0] = '\0';
        metrics_count(t, &states, metrics_label(labels, sizeof labels, "state", name),
                      n->by_state[i]);
    }
    metrics_begin(t, &kinds);
    for (unsigned i = 0; i < LISTENER_KIND_COUNT; i++) {
        labels[0] = '\0';
        metrics_count(t, &kinds,
                      metrics_label(labels, sizeof labels, "kind", listener_kind_names[i]),
                      n->by_kind[i]);
    }
}

static void write_refused(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family f = {
        "ergon_requests_refused", METRICS_COUNTER, NULL,
        "Requests that were refused before a handler saw them, by their error."};
    char labels[LABELS_MAX];

    metrics_begin(t, &f);
    for (int error = ERGON_OK + 1; error < ERGON_ERROR_COUNT; error++) {
        uint64_t refused = 0;
        for (uint32_t i = 0; i < s->loop_count; i++)
            refused += counter_read(&s->rpc_loops[i]->stats.refused_for[error]);
        labels[0] = '\0';
        metrics_label(labels, sizeof labels, "error", error_name((enum ergon_error)error));
        metrics_count(t, &f, labels, refused);
    }
}

static void write_workers(struct metrics_text *t, const struct rpc_shared *s)
{
    static const struct metrics_family states = {"ergon_workers", METRICS_GAUGE, NULL,
                                                 "Workers that are registered, by their state."};
    uint64_t workers = 0, quiet = 0, slots = 0, gone = 0, strange = 0, requests = 0,
             notifications = 0;

    for (uint32_t i = 0; i < s->loop_count; i++) {
        const struct rpc_stats *r = &s->rpc_loops[i]->stats;
        workers += counter_read(&r->workers);
        quiet += counter_read(&r->workers_quiet);
        slots += counter_read(&r->worker_slots);
        gone += counter_read(&r->workers_gone);
        strange += counter_read(&r->strange);
        requests += counter_read(&r->requests);
        notifications += counter_read(&r->notifications);
    }
    write_one(t, "ergon_requests", METRICS_COUNTER, NULL, requests, "Requests that were read.");
    write_one(t, "ergon_notifications", METRICS_COUNTER, NULL, notifications,
              "Notifications that were read.");
    write_refused(t, s);
    metrics_begin(t, &states);
    metrics_count(t, &states, "state=\"open\"", workers > quiet ? workers - quiet : 0);
    metrics_count(t, &states, "state=\"quiet\"", quiet);
    write_one(t, "ergon_worker_slots", METRICS_GAUGE, NULL, slots, "Tasks that they take at once.");
    write_one(t, "ergon_workers_gone", METRICS_COUNTER, NULL, gone, "Workers that have left.");
    write_one(t, "ergon_worker_strange_answers", METRICS_COUNTER, NULL, strange,
              "Answers of workers to calls that they do not have.");
}

void write_connections(struct metrics_text *t, const struct rpc_shared *s)
{
    struct net_loop_stats n = {0};

    for (uint32_t i = 0; i < s->loop_count; i++)
        net_loop_add_stats(s->net_loops[i], &n);
    write_states(t, &n);
    write_one(t, "ergon_connections_accepted", METRICS_COUNTER, NULL, n.accepted,
              "Connections that were accepted.");
    write_one(t, "ergon_connections_closed", METRICS_COUNTER, NULL, n.closed,
              "Connections that were closed.");
    write_one(t, "ergon_connections_gave_way", METRICS_COUNTER, NULL, n.gave_way,
              "Connections that were closed for another, since a limit was reached.");
    write_one(t, "ergon_newcomers", METRICS_GAUGE, NULL, n.newcomers,
              "Connections that are not authenticated.");
    write_one(t, "ergon_messages", METRICS_COUNTER, NULL, n.messages, "Messages that were read.");
    write_one(t, "ergon_received_bytes", METRICS_COUNTER, "bytes", n.bytes_in,
              "Bytes that were read from connections.");
    write_one(t, "ergon_sent_bytes", METRICS_COUNTER, "bytes", n.bytes_out,
              "Bytes that were written to connections.");
    write_one(t, "ergon_protocol_errors", METRICS_COUNTER, NULL, n.protocol_errors,
              "Connections that sent what is no message, or broke a limit of messages.");
    write_one(t, "ergon_unread_closed", METRICS_COUNTER, NULL, n.unread,
              "Connections that did not read what was pushed to them.");
    write_workers(t, s);
}
