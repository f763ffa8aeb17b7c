#include "tests/support/net_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/encoder.h"
#include "proto/reader.h"
#include "proto/scanner.h"
#include "server/net/auth/peer.h"
#include "server/net/connection/evict.h"
#include "server/net/connection/unauthenticated.h"

struct net_world net;
struct net_wish net_wish;
struct script peer;

static void record_connections(void *arg, const char *line)
{
    if (strstr(line, "] conn ") != NULL || strstr(line, "] peer ") != NULL)
        net.record(&net.v, line);
}

int net_close(void **state)
{
    if (net.activator == NULL)
        return 0;
    net_loop_free(net.loop);
    for (struct script *k = net.scripts; k != NULL; k = k->next)
        script_fini(k);
    tally_book_fini(&net.tallies);
    accounts_free(net.accounts);
    virtual_fini(&net.v);
    net = (struct net_world){.echo = net.echo};
    return 0;
}

int net_open(void **state)
{
    net_close(state);
    net.echo = (struct echo_port){0};
    net.port = echo_port(&net.echo);
    virtual_init(&net.v);
    net.record = net.v.trace.line;
    net.v.trace.line = record_connections;
    net.activator = virtual_open(&net.v, "loop");
    net.accounts =
        accounts_new(net_wish.accounts.bytes_in_all > 0 ? &net_wish.accounts : &unlimited_accounts,
                     (uint64_t[2]){1, 2});
    tally_book_init(&net.tallies, net.accounts, net.activator);
    net.rules = (struct listener_rules){.auth = LISTENER_AUTH_NONE};
    net.limits = (struct net_limits){.scan = {.message_max = 1 << 20, .depth_max = 32},
                                     .in_flight = 1000,
                                     .output_max = 1 << 20,
                                     .partial = {.shared = 1 << 30, .own = 1 << 20},
                                     .connection_bytes = net_wish.connection_bytes,
                                     .auth_failures = 3};
    net_wish = (struct net_wish){0};
    return 0;
}

static struct conn_slot *new_slot(void)
{
    static const char address[] = "192.0.2.1:4711";
    struct conn_slot *slot = calloc(1, sizeof *slot + sizeof address);

    if (slot != NULL) {
        slot->message.fd = -1;
        slot->id = ++net.next_id;
        slot->rules = &net.rules;
        slot->key = peer_key(&(struct sockaddr_storage){.ss_family = AF_UNSPEC});
        memcpy(slot->peer, address, sizeof address);
    }
    return slot;
}

void net_start(void)
{
    if (net.loop == NULL)
        net.loop = net_loop_new(&(struct net_loop_options){.activator = net.activator,
                                                           .limits = &net.limits,
                                                           .port = net.port,
                                                           .tallies = &net.tallies});
}

void net_stop(void)
{
    net_loop_free(net.loop);
    net.loop = NULL;
}

/* New, or once more: then it is in the list. */
static void set_up_script(struct script *k)
{
    struct script **at = &net.scripts;

    while (*at != NULL && *at != k)
        at = &(*at)->next;
    struct script *next = *at == k ? k->next : NULL;
    if (k->in != NULL)
        script_fini(k);
    script_init(k, &net.v, net.activator);
    *at = k;
    k->next = next;
}

static struct connection *connect_slot(struct script *k, struct conn_slot *slot)
{
    struct connection *c = slot == NULL ? NULL : conn_new(net.loop, slot);
    if (c == NULL) {
        free(slot);
        return NULL;
    }
    script_open(k, &c->stream, conn_on_event);
    conn_start(c);
    unauthenticated_make_room(net.loop);
    return c;
}

struct connection *net_connect(struct script *k)
{
    net_start();
    set_up_script(k);
    return connect_slot(k, new_slot());
}

struct connection *net_connect_from(struct script *k, uint64_t key)
{
    net_start();
    set_up_script(k);
    struct conn_slot *slot = new_slot();
    if (slot != NULL)
        slot->key = key;
    return connect_slot(k, slot);
}

void net_run_ms(uint64_t ms)
{
    virtual_run_until(&net.v, AO_MS(ms));
}

void net_order(enum loop_message_kind kind)
{
    struct loop_message order = {.kind = (uint8_t)kind};

    loop_handle(net.loop, &order);
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

const char *net_answered(const struct script *k)
{
    static char buf[1 << 16];
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
        if (at < sizeof buf)
            at +=
                (size_t)(good ? snprintf(buf + at, sizeof buf - at, at ? " %u" : "%u", (unsigned)id)
                              : snprintf(buf + at, sizeof buf - at, at ? " ?" : "?"));
        left = span_behind(left, len);
    }
    if (left.len > 0 && at < sizeof buf)
        snprintf(buf + at, sizeof buf - at, "...");
    return buf;
}
