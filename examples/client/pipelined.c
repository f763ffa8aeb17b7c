/* A thousand calls in flight on one connection, on an event loop of our own: the asynchronous face
 * of libergon.  Their answers come in the order in which the server has them.
 *
 *   cc pipelined.c $(pkg-config --cflags --libs ergon libevent_core) -o pipelined
 *   ./pipelined ergon://127.0.0.1:7466 */
#include <ergon/client.h>

#include <event2/event.h>
#include <stdio.h>

enum { CALLS = 1000 };

struct run {
    struct event_base *base;
    int ended;
    int good;
};

static void on_answer(void *arg, const struct ergon_answer *answer)
{
    struct run *run = arg;

    if (answer->outcome == ERGON_END_OK)
        run->good++;
    else
        fprintf(stderr, "%s: %s %s\n", ergon_end_name(answer->outcome), answer->code, answer->text);
    if (++run->ended == CALLS)
        event_base_loopbreak(run->base);
}

static void call_all(struct ergon_client *client, struct run *run)
{
    for (int i = 0; i < CALLS; i++) {
        /* [i] in MessagePack: an array of one, and an integer of 16 bits */
        unsigned char params[] = {0x91, 0xcd, (unsigned char)(i >> 8), (unsigned char)i};
        struct ergon_raw bytes = {params, sizeof params};
        if (ergon_client_call(client, "echo", bytes, 5000, on_answer, run) == 0)
            run->ended++; /* refused: there will be no callback */
    }
}

int main(int argc, char **argv)
{
    struct run run = {.base = event_base_new()};
    struct ergon_options options = {
        .size = sizeof options,
        .url = argc > 1 ? argv[1] : "ergon://127.0.0.1:7466",
        .no_reconnect = true,
    };
    struct ergon_client *client;
    char why[256];

    if (run.base == NULL)
        return 1;
    if (ergon_client_new(run.base, &options, &client, why, sizeof why) != ERGON_END_OK) {
        fprintf(stderr, "%s: %s\n", options.url, why);
        event_base_free(run.base);
        return 1;
    }
    call_all(client, &run);
    if (run.ended < CALLS)
        event_base_dispatch(run.base);
    printf("%d of %d calls were good\n", run.good, CALLS);
    ergon_client_free(client);
    event_base_free(run.base);
    return run.good == CALLS ? 0 : 1;
}
