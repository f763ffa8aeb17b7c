/* The host of actors_apart_test.py: turns of `turn.add [MS]`, which adds one to a number, noted as
 * they begin and end in a file that all hosts share.  A turn with MS, at its first attempt, takes
 * so long, calls another actor, and answers a state that no other turn makes.
 *
 *   turns_host URL FILE < PARAMETERS-OF-worker.register */
#include <ergon/client_serve.h>
#include <event2/event.h>
#include <fcntl.h>
#include <msgpack.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ACTORS = 1024, REPORTS = 1 << 18, LATE_STATE = -1000000 };

/* Little endian, as the test reads it.  A turn's number: its process above, a count below. */
static struct shared {
    _Atomic uint64_t turns, calls_fenced, calls_refused, calls_taken, reports;
    _Atomic uint64_t inside[ACTORS]; /* the turn that began last, and has not ended; or 0 */
    struct {
        uint64_t turn, other; /* `other` was inside as it began; 0: another began meanwhile */
        uint64_t gone;        /* its connection was lost by its end */
    } report[REPORTS];
} * shared;

struct turn {
    struct turn *next;
    struct ergon_served *served;
    uint64_t number, other;
    uint32_t actor, call;
    int64_t state, ms;
    struct event *timer;
};

static struct event_base *base;
static struct ergon_client *client;
static struct event *soon;
static struct turn *brief;
static uint64_t count;

static int64_t int_of(const msgpack_object *map, const char *name)
{
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *key = &map->via.map.ptr[i].key, *val = &map->via.map.ptr[i].val;
        if (key->via.str.size != strlen(name) || memcmp(key->via.str.ptr, name, strlen(name)) != 0)
            continue;
        if (val->type == MSGPACK_OBJECT_STR) /* "turn/17" */
            return strtol(val->via.str.ptr + strlen("turn/"), NULL, 10);
        return val->type == MSGPACK_OBJECT_NIL ? 0 : val->via.i64;
    }
    return 0;
}

static void report(const struct turn *t)
{
    uint64_t at = atomic_fetch_add(&shared->reports, 1) % REPORTS;
    shared->report[at].turn = t->number;
    shared->report[at].other = t->other;
    shared->report[at].gone = ergon_served_gone(t->served);
}

static void answer(struct turn *t)
{
    char bytes[32];
    msgpack_sbuffer out = {.data = bytes, .alloc = sizeof bytes};
    msgpack_packer p;
    msgpack_packer_init(&p, &out, msgpack_sbuffer_write);
    msgpack_pack_array(&p, 2), msgpack_pack_nil(&p), msgpack_pack_map(&p, 1);
    msgpack_pack_str_with_body(&p, "state", 5);
    msgpack_pack_int64(&p, t->ms ? LATE_STATE : t->state + 1);
    ergon_served_answer(t->served, (struct ergon_raw){bytes, out.size});
    if (t->timer)
        event_free(t->timer);
    free(t);
}

static void later(struct turn *t, int64_t ms, event_callback_fn what)
{
    struct timeval tv = {ms / 1000, ms % 1000 * 1000};
    if (t->timer)
        event_free(t->timer);
    t->timer = evtimer_new(base, what, t);
    event_add(t->timer, &tv);
}

static void report_and_answer(evutil_socket_t none, short what, void *arg)
{
    report(arg);
    answer(arg);
}

/* One that was not alone waits until it knows whether it had been given up. */
static void end(struct turn *t)
{
    uint64_t own = t->number;
    bool alone = atomic_compare_exchange_strong(&shared->inside[t->actor], &own, 0) && !t->other;
    atomic_fetch_add(&shared->turns, 1);
    if (alone)
        answer(t);
    else
        later(t, 100, report_and_answer);
}

static void end_brief(evutil_socket_t none, short what, void *arg)
{
    for (struct turn *t = brief, *next; t; t = next) {
        next = t->next;
        end(t);
    }
    brief = NULL;
}

static void on_called(void *arg, const struct ergon_answer *got)
{
    bool fenced = got->outcome == ERGON_END_ERROR && strcmp(got->code, "FENCED") == 0;
    atomic_fetch_add(fenced                         ? &shared->calls_fenced
                     : got->outcome == ERGON_END_OK ? &shared->calls_taken
                                                    : &shared->calls_refused,
                     1);
    end(arg);
}

/* ["turn/0", "add", [0], {"turn": call}] */
static void call(evutil_socket_t none, short what, void *arg)
{
    struct turn *t = arg;
    uint8_t params[] = "\x94\xa6turn/0\xa3"
                       "add\x91\x00\x81\xa4turn\xce....";
    for (int i = 0; i < 4; i++)
        params[sizeof params - 5 + (size_t)i] = (uint8_t)(t->call >> (24 - 8 * i));
    if (ergon_client_call(client, "actor.call", (struct ergon_raw){params, sizeof params - 1}, 5000,
                          on_called, t) == 0)
        end(t);
}

static void on_request(void *arg, struct ergon_served *served)
{
    struct turn *t = calloc(1, sizeof *t);
    msgpack_unpacked got;
    msgpack_unpacked_init(&got);
    (void)msgpack_unpack_next(&got, served->params.at, served->params.len, NULL);
    const msgpack_object *params = got.data.via.array.ptr, *context = &params[1];
    *t = (struct turn){.served = served, .number = (uint64_t)getpid() << 32 | ++count};
    t->actor = (uint32_t)int_of(context, "actor");
    t->call = (uint32_t)int_of(context, "call");
    t->state = int_of(context, "state");
    t->ms = int_of(context, "attempt") == 1 ? params[0].via.i64 : 0;
    msgpack_unpacked_destroy(&got);
    t->other = atomic_exchange(&shared->inside[t->actor], t->number);
    if (t->ms) {
        later(t, t->ms, call);
        return;
    }
    t->next = brief;
    brief = t;
    if (!evtimer_pending(soon, NULL))
        event_add(soon, &(struct timeval){0, 1000});
}

static void on_state(void *offer, enum ergon_state state, const char *why)
{
    if (state == ERGON_STATE_READY)
        ergon_client_call(client, "worker.register", *(struct ergon_raw *)offer, 0, NULL, NULL);
}

int main(int argc, char **argv)
{
    char offer[1024];
    struct ergon_raw params = {offer, fread(offer, 1, sizeof offer, stdin)};
    struct ergon_options options = {sizeof options, .url = argv[1], .backoff_max_ms = 200,
                                    .on_state = on_state, .on_state_arg = &params};
    int file = open(argv[2], O_RDWR | O_CLOEXEC);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        return 1;
    base = event_base_new();
    soon = evtimer_new(base, end_brief, NULL);
    ergon_client_new(base, &options, &client, NULL, 0);
    ergon_client_serve(client,
                       &(struct ergon_serve_options){.size = sizeof(struct ergon_serve_options),
                                                     .slots = 32,
                                                     .on_request = on_request});
    ergon_client_connect(client);
    event_base_dispatch(base);
}
