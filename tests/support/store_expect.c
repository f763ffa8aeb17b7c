#include "tests/support/store_expect.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/store_client.h"

enum { ERROR_TEXT = 512 }; /* bytes */

static void __attribute__((format(printf, 2, 3))) say(struct store_text *t, const char *format, ...)
{
    size_t len = strlen(t->text);
    va_list args;
    va_start(args, format);
    vsnprintf(t->text + len, sizeof t->text - len, format, args);
    va_end(args);
}

static void see_span(struct store_text *t, const char *name, struct span s)
{
    if (s.len)
        say(t, " %s=%.*s", name, (int)s.len, (const char *)s.at);
}

static void see_number(struct store_text *t, const char *name, uint64_t n)
{
    if (n)
        say(t, " %s=%llu", name, (unsigned long long)n);
}

static void see_counts(void *arg, const struct store_counts *c)
{
    say(arg, "counts %lld %lld %lld %lld %lld %lld\n", (long long)c->submitted, (long long)c->done,
        (long long)c->failed, (long long)c->cancelled, (long long)c->expired, (long long)c->dead);
}

static bool see_queue(void *arg, const struct store_queue *q)
{
    see_span(arg, "queue", q->method);
    see_number(arg, "paused", q->paused);
    see_number(arg, "draining", q->draining);
    see_number(arg, "offered_at", q->offered_at);
    see_number(arg, "secret", q->secret);
    say(arg, "\n");
    return true;
}

static bool see_rate(void *arg, const struct store_rate *r)
{
    see_number(arg, "rate", r->id);
    see_span(arg, "tenant", r->tenant);
    see_span(arg, "key", r->key);
    see_number(arg, "max", r->max);
    see_number(arg, "per", r->per);
    see_number(arg, "noted_at", r->noted_at);
    see_number(arg, "promised", r->promised);
    see_span(arg, "starts", r->starts);
    say(arg, "\n");
    return true;
}

static bool see_cron(void *arg, const struct store_cron *c)
{
    see_span(arg, "cron", c->name);
    see_span(arg, "schedule", c->schedule);
    see_span(arg, "zone", c->zone);
    see_span(arg, "method", c->method);
    see_span(arg, "tenant", c->tenant);
    see_span(arg, "made_by", c->made_by);
    see_span(arg, "params", c->params);
    see_span(arg, "options", c->options);
    see_number(arg, "next_at", c->next_at);
    see_number(arg, "last_at", c->last_at);
    see_number(arg, "last_task", c->last_task);
    see_number(arg, "paused", c->paused);
    say(arg, "\n");
    return true;
}

static void see_life(struct store_text *content, const struct store_task *t)
{
    see_number(content, "attempt", t->attempt);
    see_number(content, "failures", t->failures);
    see_number(content, "crashes", t->crashes);
    see_number(content, "losses", t->losses);
    see_number(content, "lost", t->lost);
    see_number(content, "cancel_asked", t->cancel_asked);
    see_number(content, "due_at", t->due_at);
    see_number(content, "started_at", t->started_at);
    see_number(content, "ended_at", t->ended_at);
    see_span(content, "error_code", t->error_code);
    see_span(content, "error_text", t->error_text);
    see_span(content, "ran_by", t->ran_by);
    see_span(content, "checkpoint", t->checkpoint);
    see_span(content, "result", t->result);
}

static bool see_task(void *arg, const struct store_task *t)
{
    say(arg, "task %llu %s", (unsigned long long)t->id, client_states[t->state]);
    see_span(arg, "method", t->method);
    see_span(arg, "tenant", t->tenant);
    see_span(arg, "actor", t->actor);
    see_span(arg, "key", t->key);
    see_span(arg, "coalesce", t->coalesce);
    see_span(arg, "limit_key", t->limit_key);
    see_span(arg, "rate_key", t->rate_key);
    see_span(arg, "traceparent", t->traceparent);
    see_span(arg, "tracestate", t->tracestate);
    see_span(arg, "params", t->params);
    see_span(arg, "after", t->after);
    see_span(arg, "after_any", t->after_any);
    see_number(arg, "created", t->created);
    see_number(arg, "deadline_at", t->deadline_at);
    see_number(arg, "timeout", t->timeout);
    see_number(arg, "backoff", t->backoff);
    see_number(arg, "backoff_max", t->backoff_max);
    see_number(arg, "keep", t->keep);
    see_number(arg, "rate_per", t->rate_per);
    see_number(arg, "keep_size", t->keep_size);
    see_number(arg, "retries", t->retries);
    see_number(arg, "limit", t->limit);
    see_number(arg, "rate", t->rate);
    see_number(arg, "priority", t->priority);
    see_number(arg, "durable", t->durable);
    see_number(arg, "jitter", t->backoff_jitter);
    see_life(arg, t);
    say(arg, "\n");
    return true;
}

static bool see_event(void *arg, const struct store_event *e)
{
    say(arg, "event %llu.%u", (unsigned long long)e->id, e->seq);
    see_number(arg, "at", e->at);
    see_number(arg, "attempt", e->attempt);
    see_span(arg, "what", e->what);
    see_span(arg, "text", e->text);
    see_span(arg, "data", e->data);
    say(arg, "\n");
    return true;
}

static bool see_semaphore(void *arg, const struct store_semaphore *s)
{
    see_span(arg, "semaphore", s->name);
    see_number(arg, "id", s->id);
    see_number(arg, "permits", s->permits);
    say(arg, "\n");
    return true;
}

static bool see_hold(void *arg, const struct store_hold *h)
{
    see_span(arg, "hold", h->name);
    see_number(arg, "id", h->id);
    see_span(arg, "principal", h->principal);
    see_number(arg, "permits", h->permits);
    see_number(arg, "of", h->of);
    see_number(arg, "ends_at", h->ends_at);
    say(arg, "\n");
    return true;
}

static bool see_row(void *arg, const struct store_table *table, const void *row)
{
    if (table == &store_queues)
        return see_queue(arg, row);
    if (table == &store_rates)
        return see_rate(arg, row);
    if (table == &store_crons)
        return see_cron(arg, row);
    if (table == &store_semaphores)
        return see_semaphore(arg, row);
    return table != &store_holds || see_hold(arg, row);
}

static const struct store_table *const tables[] = {&store_queues, &store_rates, &store_semaphores,
                                                   &store_holds, &store_crons};

struct store_reader store_text_reader(struct store_text *text)
{
    text->text[0] = '\0';
    return (struct store_reader){.arg = text,
                                 .counts = see_counts,
                                 .tables = tables,
                                 .table_count = sizeof tables / sizeof *tables,
                                 .row = see_row,
                                 .task = see_task,
                                 .event = see_event};
}

void store_expect(const char *path, const char *expected)
{
    char error[ERROR_TEXT] = "";
    struct store_text content;
    const struct store_options options = client_options(path);
    const struct store_reader reader = store_text_reader(&content);
    struct store *s = store_open(&options, error, sizeof error);
    assert_string_equal(error, "");
    assert_int_equal(store_load(s, &reader, error, sizeof error), 0);
    store_close(s);
    assert_string_equal(content.text, expected);
}
