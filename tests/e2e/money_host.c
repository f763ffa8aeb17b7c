/* Accounts of actors_money_test.py in C: what HOST there is in Python, with the same states.
 *
 *   money_host URL < PARAMETERS-OF-worker.register */
#include <ergon/client_serve.h>
#include <event2/event.h>
#include <msgpack.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct event_base *base;
static struct ergon_client *client;
static const char *const lists[] = {"sent", "got", "again"};
enum { SENT = 1, GOT = 2, AGAIN = 4 };

/* NULL: it has none. */
static const msgpack_object *find(const msgpack_object *map, const char *name)
{
    for (uint32_t i = 0; map->type == MSGPACK_OBJECT_MAP && i < map->via.map.size; i++) {
        const msgpack_object_str *key = &map->via.map.ptr[i].key.via.str;
        if (key->size == strlen(name) && memcmp(key->ptr, name, key->size) == 0)
            return &map->via.map.ptr[i].val;
    }
    return NULL;
}

static void pack_text(msgpack_packer *out, const char *text)
{
    msgpack_pack_str_with_body(out, text, strlen(text));
}

/* As it was, with other cents, and the transfer behind those lists. */
static void pack_state(msgpack_packer *out, const msgpack_object *was, int64_t cents,
                       const msgpack_object *transfer, unsigned notes)
{
    pack_text(out, "state"), msgpack_pack_map(out, 4);
    pack_text(out, "cents"), msgpack_pack_int64(out, cents);
    for (unsigned i = 0; i < 3; i++) {
        const msgpack_object *old = find(was, lists[i]);
        uint32_t count = old ? old->via.array.size : 0;
        pack_text(out, lists[i]), msgpack_pack_array(out, count + (notes >> i & 1));
        for (uint32_t n = 0; n < count; n++)
            msgpack_pack_object(out, old->via.array.ptr[n]);
        if (notes >> i & 1)
            msgpack_pack_object(out, *transfer);
    }
}

static void pack_tell(msgpack_packer *out, const msgpack_object *to, const char *method,
                      const msgpack_object *own, const msgpack_object *transfer)
{
    pack_text(out, "tell"), msgpack_pack_array(out, 1), msgpack_pack_array(out, 3);
    msgpack_pack_object(out, *to), pack_text(out, method), msgpack_pack_array(out, own ? 2 : 1);
    if (own)
        msgpack_pack_object(out, *own);
    msgpack_pack_object(out, *transfer);
}

/* [result, changes] of give, take and back; the others are Python's. */
static void take_turn(msgpack_packer *out, char method, const msgpack_object_array *params)
{
    const msgpack_object *context = &params->ptr[params->size - 1], *was = find(context, "state"),
                         *first = &params->ptr[0], *transfer = &params->ptr[params->size - 2];
    int64_t has = find(was, "cents")->via.i64, number = transfer->via.array.ptr[1].via.i64,
            cents = transfer->via.array.ptr[2].via.i64;
    bool gives = method == 'g', sends = gives ? has >= cents : method == 't' && number % 7 == 0;
    msgpack_pack_array(out, 2), msgpack_pack_nil(out), msgpack_pack_map(out, sends ? 2 : 1);
    if (sends)
        pack_tell(out, first, gives ? "take" : "back", gives ? find(context, "actor") : NULL,
                  transfer);
    if (gives)
        pack_state(out, was, sends ? has - cents : has, transfer, sends ? SENT : SENT | AGAIN);
    else
        pack_state(out, was, sends ? has : has + cents, transfer,
                   sends           ? 0
                   : method == 't' ? GOT
                                   : AGAIN);
}

static void on_request(void *arg, struct ergon_served *served)
{
    msgpack_sbuffer answer;
    msgpack_packer out;
    msgpack_unpacked got;
    (void)arg, msgpack_sbuffer_init(&answer), msgpack_unpacked_init(&got);
    msgpack_packer_init(&out, &answer, msgpack_sbuffer_write);
    (void)msgpack_unpack_next(&got, served->params.at, served->params.len, NULL);
    take_turn(&out, strchr(served->method, '.')[1], &got.data.via.array);
    ergon_served_answer(served, (struct ergon_raw){answer.data, answer.size});
    msgpack_unpacked_destroy(&got), msgpack_sbuffer_destroy(&answer);
}

static void on_answer(void *arg, const struct ergon_answer *answer)
{
    if (answer->outcome == ERGON_END_ERROR)
        fprintf(stderr, "%s: %s\n", answer->code, answer->text);
}

static void on_state(void *offer, enum ergon_state state, const char *why)
{
    if (state == ERGON_STATE_READY)
        ergon_client_call(client, "worker.register", *(struct ergon_raw *)offer, 0, on_answer,
                          NULL);
}

int main(int argc, char **argv)
{
    char offer[1024];
    struct ergon_raw params = {offer, fread(offer, 1, sizeof offer, stdin)};
    struct ergon_options options = {sizeof options, .url = argv[1], .backoff_max_ms = 200,
                                    .on_state = on_state, .on_state_arg = &params};
    base = event_base_new();
    ergon_client_new(base, &options, &client, NULL, 0);
    ergon_client_serve(client,
                       &(struct ergon_serve_options){sizeof(struct ergon_serve_options),
                                                     .slots = 16, .on_request = on_request});
    ergon_client_connect(client);
    event_base_dispatch(base);
}
