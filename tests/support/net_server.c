#include "tests/support/net_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/url.h"

static ao_time clock_now(void *arg)
{
    return ((struct net_server *)arg)->now;
}

void net_server_init(struct net_server *s, uint32_t loops)
{
    *s = (struct net_server){.now = AO_S(1), .count = loops};
    s->clock = (struct ao_clock){.now = clock_now, .arg = s};
    s->limits = (struct net_limits){.scan = {.message_max = 1 << 20, .depth_max = 32},
                                    .in_flight = 1000,
                                    .output_max = 1 << 20,
                                    .partial_total = 1 << 26,
                                    .handshake_timeout = AO_S(10),
                                    .auth_failures = 3};
}

void net_server_open(struct net_server *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->pollers[i] = poller_libevent_new();
        s->activators[i] = activator_open(&(struct activator_options){
            .name = "loop", .clock = &s->clock, .poller = s->pollers[i], .core = -1});
        s->loops[i] = net_loop_new(&(struct net_loop_options){.index = i,
                                                              .activator = s->activators[i],
                                                              .poller = s->pollers[i],
                                                              .limits = &s->limits,
                                                              .port = echo_port(&s->ports[i])});
    }
    s->acceptor = acceptor_new(s->loops, s->count, &s->limits);
    assert_non_null(s->acceptor);
}

void net_server_close(struct net_server *s)
{
    acceptor_free(s->acceptor);
    for (uint32_t i = 0; i < s->count; i++) {
        net_loop_free(s->loops[i]);
        activator_close(s->activators[i]);
        poller_libevent_free(s->pollers[i]);
    }
}

void net_server_turn(struct net_server *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        activator_round(s->activators[i], false);
    s->now += AO_US(60); /* so that a busy loop asks its poller */
}

uint64_t net_server_connections(const struct net_server *s, uint32_t loop)
{
    struct net_loop_stats stats;

    net_loop_stats(s->loops[loop], &stats);
    return stats.connections;
}

uint64_t net_server_total(const struct net_server *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->count; i++)
        sum += net_server_connections(s, i);
    return sum;
}

static socklen_t address_of(const struct url *url, struct sockaddr_storage *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)address;
    struct sockaddr_un *un = (struct sockaddr_un *)address;

    if (url->scheme == URL_UNIX) {
        un->sun_family = AF_UNIX;
        memcpy(un->sun_path, url->path, strlen(url->path) + 1);
        return sizeof *un;
    }
    if (url->kind == URL_HOST_V6) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(url->port);
        inet_pton(AF_INET6, url->host, &in6->sin6_addr);
        return sizeof *in6;
    }
    in->sin_family = AF_INET;
    in->sin_port = htons(url->port);
    inet_pton(AF_INET, url->host, &in->sin_addr);
    return sizeof *in;
}

int net_client_connect(const char *text)
{
    struct url url;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};

    assert_null(url_parse(text, URL_CONNECT, &url));
    socklen_t size = address_of(&url, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

void net_client_request(int fd, uint8_t id)
{
    const uint8_t bytes[] = {0x94, 0, id, 0xa4, 'e', 'c', 'h', 'o', 0x91, 0xc3};

    assert_int_equal(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL), sizeof bytes);
}

bool net_client_answered(int fd, uint8_t id)
{
    const uint8_t expected[] = {0x94, 1, id, 0xc0, 0x91, 0xc3};
    uint8_t got[sizeof expected];
    ssize_t n = recv(fd, got, sizeof got, MSG_PEEK);

    if (n < (ssize_t)sizeof got)
        return false;
    assert_int_equal(recv(fd, got, sizeof got, 0), sizeof got);
    assert_memory_equal(got, expected, sizeof got);
    return true;
}

bool net_client_at_eof(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}
