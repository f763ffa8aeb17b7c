/* A worker of Ergon, on libergon's asynchronous face, that gives back what it was given.
 *
 *     ergon_worker PORT METHOD SLOTS */
#include <ergon/client_serve.h>
#include <ergon/client_workers.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

struct worker {
    struct event_base *base;
    struct ergon_client *client;
    const char *method;
    uint64_t slots;
};

/* The parameters are [payload]: the head of an array of one is a byte. */
static void on_request(void *arg, struct ergon_served *served)
{
    struct ergon_raw params = served->params;
    const uint8_t *at = params.at;

    (void)arg;
    if (params.len > 1 && at[0] == 0x91)
        ergon_served_answer(served, (struct ergon_raw){at + 1, params.len - 1});
    else
        ergon_served_fail(served, "BAD_PARAMS", "one payload is expected");
}

static void on_registered(void *arg, const struct ergon_answer *answer)
{
    struct worker *w = arg;

    if (answer->outcome == ERGON_END_OK) {
        puts("ready");
        fflush(stdout);
        return;
    }
    fprintf(stderr, "ergon_worker: %s: %s\n", answer->code, answer->text);
    event_base_loopbreak(w->base);
}

static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct worker *w = arg;
    const struct ergon_worker_options options = {.size = sizeof options, .slots = w->slots};

    if (state == ERGON_STATE_READY) {
        ergon_client_ask(w->client, ergon_request_worker_register(&w->method, 1, &options), 0,
                         on_registered, w);
    } else if (state == ERGON_STATE_BACKING_OFF) {
        fprintf(stderr, "ergon_worker: %s\n", why);
        event_base_loopbreak(w->base);
    }
}

int main(int argc, char **argv)
{
    struct worker w = {.base = event_base_new()};
    char url[64], why[256] = "out of memory";

    if (argc != 4)
        return fprintf(stderr, "usage: ergon_worker PORT METHOD SLOTS\n"), 2;
    w.method = argv[2];
    w.slots = strtoull(argv[3], NULL, 10);
    snprintf(url, sizeof url, "ergon://127.0.0.1:%s", argv[1]);
    const struct ergon_options options = {
        .size = sizeof options, .url = url, .on_state = on_state, .on_state_arg = &w};
    const struct ergon_serve_options serve = {
        .size = sizeof serve, .slots = (uint32_t)w.slots, .on_request = on_request};
    if (!w.base || ergon_client_new(w.base, &options, &w.client, why, sizeof why) != ERGON_END_OK)
        return fprintf(stderr, "ergon_worker: %s\n", why), 1;
    ergon_client_serve(w.client, &serve);
    ergon_client_connect(w.client);
    event_base_dispatch(w.base);
    ergon_client_free(w.client);
    event_base_free(w.base);
    return 1;
}
