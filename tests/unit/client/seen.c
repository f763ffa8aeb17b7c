#include "tests/unit/client/seen.h"

#include <stdio.h>

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

struct ergon_client *seen_client(struct scripted *s, struct ergon_options options)
{
    struct ergon_client *client;
    char why[128] = "";
    options.size = sizeof options;
    options.url = s->url;
    if (options.backoff_min_ms == 0)
        options.backoff_min_ms = options.backoff_max_ms = 1;
    assert_int_equal(ergon_client_new(s->base, &options, &client, why, sizeof why), ERGON_END_OK);
    return client;
}

ergon_call_id seen_call(struct ergon_client *client, const char *method, struct seen *seen,
                        uint32_t timeout_ms)
{
    ergon_call_id id =
        ergon_client_call(client, method, (struct ergon_raw){0}, timeout_ms, seen_answer, seen);
    assert_true(id != 0);
    assert_int_equal(seen->count, 0);
    return id;
}

void seen_answer_with_name(struct scripted *s, const struct envelope *e)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)e->method.len, (const char *)e->method.at);
    scripted_answer(s, e->msgid, name);
}
