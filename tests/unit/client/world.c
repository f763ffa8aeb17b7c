#include "tests/unit/client/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/reader.h"

void seen_answer(void *arg, const struct ergon_answer *a)
{
    struct seen *seen = arg;
    seen->count++;
    (*seen->total)++;
    seen->outcome = a->outcome;
    snprintf(seen->code, sizeof seen->code, "%s", a->code);
    snprintf(seen->text, sizeof seen->text, "%s", a->text);
    struct reader r = reader_of(span_of(a->result.at, a->result.len));
    struct span text;
    if (a->result.len > 0 && read_text(&r, &text))
        snprintf(seen->result, sizeof seen->result, "%.*s", (int)text.len, (const char *)text.at);
}

int world_setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    scripted_start(&w->server, NULL, NULL);
    for (size_t i = 0; i < sizeof w->calls / sizeof *w->calls; i++)
        w->calls[i].total = &w->total;
    *state = w;
    return 0;
}

int world_teardown(void **state)
{
    struct world *w = *state;
    ergon_client_free(w->client);
    for (unsigned i = 0; i < w->called; i++)
        assert_int_equal(w->calls[i].count, 1);
    scripted_stop(&w->server);
    free(w);
    return 0;
}

struct world *world_open(void **state, scripted_fn *on_message, void *user,
                         struct ergon_options options)
{
    struct world *w = *state;
    char why[128] = "";
    options.size = sizeof options;
    options.url = w->server.url;
    if (options.backoff_min_ms == 0)
        options.backoff_min_ms = options.backoff_max_ms = 1;
    w->server.on_message = on_message;
    w->server.user = user;
    assert_int_equal(ergon_client_new(w->server.base, &options, &w->client, why, sizeof why),
                     ERGON_END_OK);
    return w;
}

struct seen *world_call(struct world *w, const char *method, uint32_t timeout_ms)
{
    struct seen *seen = &w->calls[w->called++];
    seen->id =
        ergon_client_call(w->client, method, (struct ergon_raw){0}, timeout_ms, seen_answer, seen);
    assert_true(seen->id != 0);
    assert_int_equal(seen->count, 0);
    return seen;
}

void world_until(struct world *w, unsigned total)
{
    scripted_until(&w->server, &w->total, total);
}

void world_until_ready(struct world *w)
{
    while (ergon_client_state(w->client) != ERGON_STATE_READY)
        event_base_loop(w->server.base, EVLOOP_ONCE);
}

void answer_with_name(struct scripted *s, const struct envelope *e)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)e->method.len, (const char *)e->method.at);
    scripted_answer(s, e->msgid, name);
}
