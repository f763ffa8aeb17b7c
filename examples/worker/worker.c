/* A worker in C, on libergon's asynchronous face: it offers the method `lines`, which counts the
 * lines of a text, until SIGTERM.  Start as many as you like, anywhere.
 *
 *   cc worker.c $(pkg-config --cflags --libs ergon libevent_core msgpack) -o worker
 *   ./worker ergon://127.0.0.1:7466 & ergon call lines '"one\ntwo\n"' */
#include <ergon/client_serve.h>
#include <event2/event.h>
#include <msgpack.h>
#include <signal.h>
#include <stdio.h>

static struct event_base *base;
static struct ergon_client *client;

/* What takes long goes to a thread of its own, and is answered later. */
static void on_request(void *arg, struct ergon_served *served)
{
    msgpack_unpacked got;
    uint32_t n = 0;

    (void)arg, msgpack_unpacked_init(&got);
    (void)msgpack_unpack_next(&got, served->params.at, served->params.len, NULL);
    msgpack_object_array list = got.data.via.array;
    if (got.data.type != MSGPACK_OBJECT_ARRAY || list.size != 1 ||
        list.ptr[0].type != MSGPACK_OBJECT_STR) {
        ergon_served_fail(served, "BAD_PARAMS", "lines takes one text");
    } else {
        for (uint32_t i = 0; i < list.ptr[0].via.str.size; i++)
            n += list.ptr[0].via.str.ptr[i] == '\n';
        uint8_t result[5] = {0xce}; /* an integer of 32 bits */
        for (int i = 4; i > 0; i--, n >>= 8)
            result[i] = (uint8_t)n;
        ergon_served_answer(served, (struct ergon_raw){result, sizeof result});
    }
    msgpack_unpacked_destroy(&got);
}

static void on_answer(void *quiet, const struct ergon_answer *answer)
{
    if (answer->outcome == ERGON_END_ERROR)
        fprintf(stderr, "%s: %s\n", answer->code, answer->text);
    if (quiet != NULL || answer->outcome == ERGON_END_ERROR)
        event_base_loopbreak(base);
}

/* Each connection is told what is offered: [["lines"], {"slots": 4}] in MessagePack. */
static void on_state(void *arg, enum ergon_state state, const char *why)
{
    struct ergon_raw offer = {"\x92\x91\xa5lines\x81\xa5slots\x04", 16};

    fprintf(stderr, "%s%s", why, *why != '\0' ? "\n" : "");
    if (state == ERGON_STATE_READY)
        ergon_client_call(client, "worker.register", offer, 0, on_answer, arg);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    (void)number, (void)what; /* once it is answered nothing more comes */
    ergon_client_call(client, "worker.quiet", (struct ergon_raw){0}, 1000, on_answer, arg);
}

int main(int argc, char **argv)
{
    struct ergon_options options = {sizeof options, .url = argc > 1 ? argv[1] : "",
                                    .on_state = on_state};
    struct ergon_serve_options serve = {sizeof serve, .slots = 4, .on_request = on_request};
    char why[256] = "";

    if ((base = event_base_new()) == NULL ||
        ergon_client_new(base, &options, &client, why, sizeof why) != ERGON_END_OK)
        return fprintf(stderr, "%s\n", why), 1;
    struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
    event_add(term, NULL);
    ergon_client_serve(client, &serve);
    ergon_client_connect(client);
    event_base_dispatch(base);
    ergon_client_free(client);
    event_free(term);
    event_base_free(base);
}
