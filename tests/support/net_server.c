#include "tests/support/net_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/url.h"

struct net_server server;

static ao_time clock_now(void *arg)
{
    return server.now;
}

int server_close(void **state)
{
    acceptor_free(server.acceptor);
    for (uint32_t i = 0; i < NET_SERVER_LOOPS && server.loops[i] != NULL; i++) {
        net_loop_free(server.loops[i]);
        tally_book_fini(&server.tallies[i]);
        activator_close(server.activators[i]);
        poller_libevent_free(server.pollers[i]);
    }
    accounts_free(server.accounts);
    server = (struct net_server){0};
    return 0;
}

int server_open(void **state)
{
    server_close(state);
    server.now = AO_S(1);
    server.count = 1;
    server.clock = (struct ao_clock){.now = clock_now};
    server.limits = (struct net_limits){.scan = {.message_max = 1 << 20, .depth_max = 32},
                                        .in_flight = 1000,
                                        .output_max = 1 << 20,
                                        .partial = {.shared = 1 << 26, .own = 1 << 20},
                                        .handshake_timeout = AO_S(10),
                                        .auth_failures = 3};
    return 0;
}

static void start(void)
{
    server.accounts = accounts_new(&unlimited_accounts, (uint64_t[2]){1, 2});
    for (uint32_t i = 0; i < server.count; i++) {
        server.pollers[i] = poller_libevent_new();
        server.activators[i] = activator_open(&(struct activator_options){
            .name = "loop", .clock = &server.clock, .poller = server.pollers[i], .core = -1});
        tally_book_init(&server.tallies[i], server.accounts, server.activators[i]);
        server.loops[i] =
            net_loop_new(&(struct net_loop_options){.index = i,
                                                    .activator = server.activators[i],
                                                    .poller = server.pollers[i],
                                                    .limits = &server.limits,
                                                    .port = echo_port(&server.ports[i]),
                                                    .tallies = &server.tallies[i]});
    }
    server.acceptor = acceptor_new(server.loops, server.count, &server.limits);
    assert_non_null(server.acceptor);
}

const char *server_listen(struct listener_options options)
{
    if (server.acceptor == NULL)
        start();
    if (options.url == NULL)
        options.url = "ergon://127.0.0.1:0";
    if (acceptor_listen(server.acceptor, &options, server.error, sizeof server.error) != 0)
        return NULL;
    return acceptor_url(server.acceptor, acceptor_count(server.acceptor) - 1);
}

void server_turn(int times)
{
    while (times-- > 0) {
        for (uint32_t i = 0; i < server.count; i++)
            activator_round(server.activators[i], false);
        server.now += AO_US(60); /* so that a busy loop asks its poller */
    }
}

uint64_t server_connections(uint32_t loop)
{
    struct net_loop_stats stats = {0};

    net_loop_add_stats(server.loops[loop], &stats);
    return stats.connections;
}

uint64_t server_total(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < server.count; i++)
        sum += server_connections(i);
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

int net_client_connect_from(const char *text, uint32_t host)
{
    struct url url;
    struct sockaddr_storage to = {.ss_family = AF_UNSPEC};
    struct sockaddr_in from = {.sin_family = AF_INET};

    from.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffu) | host);
    assert_null(url_parse(text, URL_CONNECT, &url));
    socklen_t size = address_of(&url, &to);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_true(connect(fd, (struct sockaddr *)&to, size) == 0 || errno == EINPROGRESS);
    return fd;
}

struct net_origin net_client_address(const char *text)
{
    struct net_origin from = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&from.address;

    in->sin_family = AF_INET;
    in->sin_port = htons(4711);
    assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
    return from;
}

int net_client_adopt(uint32_t listener, const struct net_origin *from)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(net_adopt(server.acceptor, listener, ends[1], from), 0);
    return ends[0];
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

static bool is_at_end(int fd, int flags, uint8_t *byte)
{
    ssize_t n = recv(fd, byte, 1, flags);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

bool net_client_at_eof(int fd)
{
    uint8_t byte;

    return is_at_end(fd, 0, &byte);
}

bool net_client_ended(int fd)
{
    uint8_t byte = 0, said[256];
    bool ended = is_at_end(fd, MSG_PEEK, &byte);

    if (ended || byte != 0x93)
        return ended;
    (void)!recv(fd, said, sizeof said, 0);
    return is_at_end(fd, MSG_PEEK, &byte);
}

int net_clients_open(const int *fds, int count)
{
    int open = 0;

    for (int i = 0; i < count; i++)
        open += !net_client_ended(fds[i]);
    return open;
}

void net_clients_close(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}
