#include "tests/support/net_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "proto/scanner.h"

static void record_connections(void *arg, const char *line)
{
    struct net_world *w = arg;

    if (strstr(line, "] conn ") != NULL || strstr(line, "] peer ") != NULL)
        w->record(&w->v, line);
}

void net_world_init(struct net_world *w)
{
    *w = (struct net_world){0};
    virtual_init(&w->v);
    w->record = w->v.trace.line;
    w->v.trace.line = record_connections;
    w->v.trace.arg = w;
    w->activator = virtual_open(&w->v, "loop");
    w->rules = (struct listener_rules){.auth = LISTENER_AUTH_TOKEN, .methods = "*"};
    w->limits = (struct net_limits){.scan = {.message_max = 1 << 20, .depth_max = 32},
                                    .in_flight = 1000,
                                    .output_max = 1 << 20,
                                    .partial_total = 1 << 30,
                                    .auth_failures = 3};
}

void net_world_open(struct net_world *w)
{
    w->loop = net_loop_new(&(struct net_loop_options){
        .activator = w->activator, .limits = &w->limits, .port = echo_port(&w->echo)});
}

void net_world_fini(struct net_world *w)
{
    net_loop_free(w->loop);
    virtual_fini(&w->v);
}

struct connection *net_world_connect(struct net_world *w, struct script *k)
{
    static const char peer[] = "192.0.2.1:4711";
    struct conn_slot *slot = calloc(1, sizeof *slot + sizeof peer);

    script_init(k, &w->v, w->activator);
    if (slot == NULL)
        return NULL;
    slot->message.fd = -1;
    slot->id = ++w->next_id;
    slot->rules = &w->rules;
    memcpy(slot->peer, peer, sizeof peer);
    struct connection *c = conn_new(w->loop, slot);
    if (c == NULL) {
        free(slot);
        return NULL;
    }
    script_open(k, &c->stream, conn_on_event);
    conn_start(c);
    return c;
}

void net_world_run_ms(struct net_world *w, uint64_t ms)
{
    virtual_run_until(&w->v, AO_MS(ms));
}

void net_world_order(struct net_world *w, enum loop_message_kind kind)
{
    struct loop_message order = {.kind = (uint8_t)kind};

    loop_handle(w->loop, &order);
}

size_t net_request(uint8_t *p, uint8_t id, const char *method, const char *argument)
{
    uint8_t *at = enc_array(p, 4);

    at = enc_uint(at, 0);
    at = enc_uint(at, id);
    at = enc_str(at, span_text(method));
    at = enc_array(at, 1);
    at = enc_str(at, span_text(argument));
    return (size_t)(at - p);
}

void net_send(struct script *k, uint8_t id, const char *method, const char *argument)
{
    uint8_t bytes[512];

    script_send(k, span_of(bytes, net_request(bytes, id, method, argument)));
}

const char *net_answered(const struct script *k, char *buf, size_t size)
{
    struct span left = span_of(k->out, k->out_len);
    size_t at = 0;
    size_t len;

    buf[0] = '\0';
    while (left.len > 0 && (len = value_length(left)) > 0) {
        struct reader r = reader_of(span_of(left.at, len));
        uint32_t count;
        uint64_t type;
        uint64_t id;
        bool good = read_array(&r, &count) && count == 4 && read_uint(&r, &type) && type == 1 &&
                    read_uint(&r, &id);
        if (at < size)
            at += (size_t)(good ? snprintf(buf + at, size - at, at ? " %u" : "%u", (unsigned)id)
                                : snprintf(buf + at, size - at, at ? " ?" : "?"));
        left = span_of(left.at + len, left.len - len);
    }
    if (left.len > 0 && at < size)
        snprintf(buf + at, size - at, "...");
    return buf;
}
