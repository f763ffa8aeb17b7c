#include "sim/user/remote.h"

#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "proto/reader.h"
#include "sim/chance.h"
#include "sim/net.h"
#include "sim/node.h"
#include "sim/schedule.h"
#include "sim/system.h"
#include "sim/trace.h"
#include "sim/user/effects.h"
#include "sim/user/load.h"
#include "sim/user/pipe.h"
#include "sim/user/report.h"

enum { READ_MAX = 16 << 10 };

struct connection {
    uint64_t number, worker;
    struct sim_link *link;
    bool over;    /* the other process knows that it has ended, or has closed it */
    uint8_t *out; /* to be sent */
    size_t out_len, out_room;
};

static struct connection **connections;
static uint32_t connection_count, connection_room;
static msgpack_sbuffer events; /* packed, and not told yet */
static msgpack_packer packer;
static uint32_t event_count;
static const struct sim_scenario *scenario;

/* --- Events --- */

static void put_text(const char *text)
{
    msgpack_pack_str_with_body(&packer, text, strlen(text));
}

static void begin_event(const char *name, uint32_t members, uint64_t number)
{
    msgpack_pack_array(&packer, members);
    put_text(name);
    msgpack_pack_uint64(&packer, number);
    event_count++;
    sim_wake_all(&events);
}

static void end_connection(struct connection *c)
{
    if (c->over)
        return;
    c->over = true;
    begin_event("closed", 2, c->number);
    sim_wake_all(c);
}

/* --- A connection: a fiber each way --- */

static void run_reader(void *arg)
{
    struct connection *c = arg;
    uint8_t buffer[READ_MAX]; /* several of us sleep with bytes in hand */
    while (!c->over && !sim_net_ended(c->link)) {
        size_t len = sim_net_receive(c->link, buffer, sizeof buffer, SIM_NEVER);
        if (len == 0 || c->over)
            continue;
        sim_latency(scenario);
        if (c->over)
            break;
        begin_event("bytes", 3, c->number);
        msgpack_pack_bin_with_body(&packer, buffer, len);
    }
    end_connection(c);
}

static void run_writer(void *arg)
{
    struct connection *c = arg;
    while (!c->over) {
        if (c->out_len == 0) {
            sim_wait_for(c, SIM_NEVER);
            continue;
        }
        uint8_t *out = c->out;
        size_t len = c->out_len;
        c->out = NULL;
        c->out_len = c->out_room = 0;
        sim_latency(scenario);
        sim_net_send(c->link, span_of(out, len));
        free(out);
    }
    sim_net_leave(c->link);
}

static struct connection *find(uint64_t number)
{
    for (uint32_t n = connection_count; n-- > 0;)
        if (connections[n]->number == number)
            return connections[n];
    return NULL;
}

static void open_connection(uint64_t number, uint64_t worker)
{
    struct connection *c = calloc(1, sizeof *c);
    if (connection_count == connection_room) {
        connection_room = connection_room * 2 + 64;
        connections = realloc(connections, connection_room * sizeof *connections);
    }
    require(c && connections, "no memory for connections of workers");
    connections[connection_count++] = c;
    c->number = number;
    c->worker = worker;
    if (!sim_node_up()) {
        end_connection(c);
        return;
    }
    c->link = sim_node_connect();
    sim_spawn(SIM_WORLD, "worker reads", run_reader, c);
    sim_spawn(SIM_WORLD, "worker writes", run_writer, c);
}

static void send_bytes(struct connection *c, struct span bytes)
{
    if (c->out_len + bytes.len > c->out_room) {
        c->out_room = (c->out_len + bytes.len) * 2;
        c->out = realloc(c->out, c->out_room);
        require(c->out != NULL, "no memory for bytes of a worker");
    }
    memcpy(c->out + c->out_len, bytes.at, bytes.len);
    c->out_len += bytes.len;
    sim_wake_all(c);
}

/* --- Actions --- */

static void copy(struct span from, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)from.len, from.at);
}

static bool take_effect(struct reader *r)
{
    struct span task, name;
    uint64_t attempt, key;
    char id[SIM_TASK_ID], word[SIM_EFFECT_NAME];
    if (!read_text(r, &task) || !read_uint(r, &attempt) || !read_text(r, &name) ||
        !read_uint(r, &key))
        return false;
    copy(task, id, sizeof id);
    copy(name, word, sizeof word);
    sim_effect_add(id, (uint32_t)attempt, word, key);
    return true;
}

static bool take_failure(struct reader *r)
{
    struct span text;
    char line[400];
    if (!read_text(r, &text))
        return false;
    copy(text, line, sizeof line - 1);
    strcat(line, "\n");
    sim_found(line, SIM_FOUND);
}

static bool take_of_connection(struct reader *r, struct span name)
{
    uint64_t number, worker;
    struct span bytes;
    if (!read_uint(r, &number))
        return false;
    struct connection *c = find(number);
    if (span_is(name, "open")) {
        if (!read_uint(r, &worker))
            return false;
        open_connection(number, worker);
        return true;
    }
    if (span_is(name, "send")) {
        if (!read_text(r, &bytes))
            return false;
        if (c && !c->over)
            send_bytes(c, bytes);
        return true;
    }
    if (c && !c->over) {
        c->over = true;
        sim_wake_all(c);
    }
    return span_is(name, "close");
}

static bool take_action(struct reader *r)
{
    uint32_t members;
    struct span name;
    if (!read_array(r, &members) || !read_text(r, &name))
        return false;
    if (span_is(name, "effect"))
        return take_effect(r);
    return span_is(name, "failed") ? take_failure(r) : take_of_connection(r, name);
}

/* --- The other process --- */

static void tell(void)
{
    msgpack_sbuffer whole;
    msgpack_packer p;
    msgpack_sbuffer_init(&whole);
    msgpack_packer_init(&p, &whole, msgpack_sbuffer_write);
    msgpack_pack_array(&p, 3);
    msgpack_pack_uint64(&p, sim_now());
    msgpack_pack_uint64(&p, sim_wall());
    msgpack_pack_array(&p, event_count);
    msgpack_sbuffer_write(&whole, events.data, events.size);
    msgpack_sbuffer_clear(&events);
    event_count = 0;
    pipe_write(span_of(whole.data, whole.size));
    msgpack_sbuffer_destroy(&whole);
}

/* Until when it wants to sleep. */
static uint64_t hear(void)
{
    uint64_t until = SIM_NEVER;
    uint32_t parts, actions;
    struct reader r = reader_of(pipe_read());
    bool good = read_array(&r, &parts) && (read_nil(&r) || read_uint(&r, &until)) &&
                read_array(&r, &actions);
    while (good && actions-- > 0)
        good = take_action(&r);
    require(good, "the other process says what is no message");
    return until;
}

static void run(void *arg)
{
    (void)arg;
    for (;;) {
        tell();
        uint64_t until = hear();
        while (event_count == 0 && sim_now() < until)
            sim_wait_for(&events, until);
    }
}

void sim_remote_spawn(const struct sim_scenario *s)
{
    scenario = s;
    msgpack_sbuffer_init(&events);
    msgpack_packer_init(&packer, &events, msgpack_sbuffer_write);
    sim_spawn(SIM_WORLD, "workers", run, NULL);
}

/* --- Faults --- */

static bool is_open(const struct connection *c)
{
    return c->link && !c->over;
}

static struct connection *any_open(void)
{
    uint32_t count = 0, n = 0;
    for (n = 0; n < connection_count; n++)
        count += is_open(connections[n]);
    uint64_t left = count > 0 ? sim_below(SIM_FAULTS, count) : 0;
    for (n = 0; n < connection_count; n++)
        if (is_open(connections[n]) && left-- == 0)
            return connections[n];
    return NULL;
}

void sim_remote_lose(bool kills)
{
    struct connection *c = any_open();
    if (!c)
        return;
    sim_story_all("worker %" PRIu64 " %s", c->worker, kills ? "is killed" : "loses its connection");
    if (kills) {
        c->over = true; /* the dead process hears nothing more */
        begin_event("killed", 2, c->worker);
        sim_wake_all(c);
    }
    sim_net_reset_one(c->link);
}
