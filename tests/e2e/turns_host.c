/* The host of actors_apart_test.py: turns of `turn.add [MS, N]`, the message N of its actor, which
 * adds one to a number.  They are noted as they begin and end in a file that all hosts share.  A
 * turn with MS, at its first attempt, takes so long, calls another actor, and answers a state that
 * no other turn makes.
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ACTORS = 1024, LATE_STATE = -1000000 };
enum call { CALL_NONE, CALL_TAKEN, CALL_FENCED, CALL_REFUSED };

/* Little endian, as the test reads it. */
struct row {
    uint64_t began, ended; /* ns, CLOCK_MONOTONIC; `ended` 0: it has not */
    uint64_t worker;       /* on which its request came: w17 */
    int64_t state;         /* that it was given */
    uint32_t actor, number;
    uint32_t attempt; /* 0: its host was killed before it noted this */
    uint16_t call;
    uint16_t gone; /* its connection was lost as it ended */
};

static struct shared {
    _Atomic uint64_t turns;          /* rows that are taken */
    _Atomic uint64_t inside[ACTORS]; /* process and row of the turn that began last; 0: it ended */
    struct row row[];
} * shared;

struct turn {
    struct turn *next;
    struct ergon_served *served;
    struct row *row;
    uint64_t inside;
    uint32_t call;
    int64_t ms;
    struct event *timer;
};

static struct event_base *base;
static struct ergon_client *client;
static struct event *soon;
static struct turn *brief;
static uint64_t rows, worker;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int64_t int_of(const msgpack_object *map, const char *name)
{
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *key = &map->via.map.ptr[i].key, *val = &map->via.map.ptr[i].val;
        if (key->via.str.size != strlen(name) || memcmp(key->via.str.ptr, name, strlen(name)) != 0)
            continue;
        if (val->type == MSGPACK_OBJECT_STR) /* "turn/17", "w17" */
            return strtol(val->via.str.ptr + (*val->via.str.ptr == 't' ? strlen("turn/") : 1), NULL,
                          10);
        return val->type == MSGPACK_OBJECT_NIL ? 0 : val->via.i64;
    }
    return 0;
}

static void answer(struct turn *t)
{
    char bytes[32];
    msgpack_sbuffer out = {.data = bytes, .alloc = sizeof bytes};
    msgpack_packer p;
    msgpack_packer_init(&p, &out, msgpack_sbuffer_write);
    msgpack_pack_array(&p, 2), msgpack_pack_nil(&p), msgpack_pack_map(&p, 1);
    msgpack_pack_str_with_body(&p, "state", 5);
    msgpack_pack_int64(&p, t->ms ? LATE_STATE : t->row->state + 1);
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

static void end(struct turn *t)
{
    uint64_t own = t->inside;
    atomic_compare_exchange_strong(&shared->inside[t->row->actor], &own, 0);
    t->row->gone = ergon_served_gone(t->served);
    t->row->ended = now();
    answer(t);
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
    struct turn *t = arg;
    bool fenced = got->outcome == ERGON_END_ERROR && strcmp(got->code, "FENCED") == 0;
    t->row->call = fenced ? CALL_FENCED : got->outcome == ERGON_END_OK ? CALL_TAKEN : CALL_REFUSED;
    end(t);
}

/* ["turn/0", "add", [0, 0], {"turn": call}] */
static void call(evutil_socket_t none, short what, void *arg)
{
    struct turn *t = arg;
    uint8_t params[] = "\x94\xa6turn/0\xa3"
                       "add\x92\x00\x00\x81\xa4turn\xce....";
    for (int i = 0; i < 4; i++)
        params[sizeof params - 5 + (size_t)i] = (uint8_t)(t->call >> (24 - 8 * i));
    if (ergon_client_call(client, "actor.call", (struct ergon_raw){params, sizeof params - 1},
                          60000, on_called, t) == 0)
        end(t);
}

static void on_request(void *arg, struct ergon_served *served)
{
    uint64_t began = now();
    struct turn *t = calloc(1, sizeof *t);
    msgpack_unpacked got;
    msgpack_unpacked_init(&got);
    (void)msgpack_unpack_next(&got, served->params.at, served->params.len, NULL);
    const msgpack_object *params = got.data.via.array.ptr, *context = &params[2];
    *t = (struct turn){.served = served};
    uint64_t at = atomic_fetch_add(&shared->turns, 1);
    if (at >= rows)
        abort();
    t->row = &shared->row[at];
    t->inside = (uint64_t)getpid() << 32 | at;
    *t->row = (struct row){.began = began, .worker = worker};
    t->row->number = (uint32_t)params[1].via.u64;
    t->row->actor = (uint32_t)int_of(context, "actor");
    t->row->state = int_of(context, "state");
    t->row->attempt = (uint32_t)int_of(context, "attempt");
    t->call = (uint32_t)int_of(context, "call");
    t->ms = t->row->attempt == 1 ? params[0].via.i64 : 0;
    msgpack_unpacked_destroy(&got);
    atomic_store(&shared->inside[t->row->actor], t->inside);
    if (t->ms) {
        later(t, t->ms, call);
        return;
    }
    t->next = brief;
    brief = t;
    if (!evtimer_pending(soon, NULL))
        event_add(soon, &(struct timeval){0, 1000});
}

/* The worker that this connection is. */
static void on_registered(void *arg, const struct ergon_answer *got)
{
    msgpack_unpacked map;
    msgpack_unpacked_init(&map);
    if (got->outcome == ERGON_END_OK &&
        msgpack_unpack_next(&map, got->result.at, got->result.len, NULL) == MSGPACK_UNPACK_SUCCESS)
        worker = (uint64_t)int_of(&map.data, "worker");
    msgpack_unpacked_destroy(&map);
}

static void on_state(void *offer, enum ergon_state state, const char *why)
{
    if (state == ERGON_STATE_READY)
        ergon_client_call(client, "worker.register", *(struct ergon_raw *)offer, 0, on_registered,
                          NULL);
}

int main(int argc, char **argv)
{
    char offer[1024];
    struct ergon_raw params = {offer, fread(offer, 1, sizeof offer, stdin)};
    struct ergon_options options = {sizeof options, .url = argv[1], .backoff_max_ms = 200,
                                    .on_state = on_state, .on_state_arg = &params};
    int file = open(argv[2], O_RDWR | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about) < 0)
        return 1;
    rows = ((uint64_t)about.st_size - sizeof *shared) / sizeof(struct row);
    shared = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
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
