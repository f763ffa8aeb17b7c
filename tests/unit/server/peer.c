#include "tests/unit/server/peer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/scanner.h"
#include "tests/support/net_server.h"

enum { PATIENCE_S = 60 /* what has not come by then never will */ };

void peer_open(struct peer *p, const char *url)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};

    *p = (struct peer){.fd = net_client_connect(url)};
    assert_true(p->fd >= 0);
    assert_int_equal(fcntl(p->fd, F_SETFL, 0), 0); /* it waits, for an answer as for a connection */
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

void peer_close(struct peer *p)
{
    close(p->fd);
    p->fd = -1;
}

void peer_send(struct peer *p, const char *method, struct span params)
{
    uint8_t message[128] = {0x94, 0x00, ++p->next_id, (uint8_t)(0xa0 | strlen(method))};
    size_t name = strlen(method);

    assert_true(name < 32 && p->next_id < 128 && 4 + name + params.len <= sizeof message);
    memcpy(message + 4, method, name);
    memcpy(message + 4 + name, params.at, params.len);
    ssize_t size = (ssize_t)(4 + name + params.len);
    assert_int_equal(send(p->fd, message, (size_t)size, MSG_NOSIGNAL), size);
}

static uint32_t whole_messages(const struct peer *p)
{
    static const struct scan_limits limits = {.message_max = PEER_READ_MAX, .depth_max = 32};
    struct scanner s;
    uint32_t count = 0;

    for (size_t at = 0; at < p->have; at += s.done, count++) {
        scanner_init(&s);
        enum scan_verdict v = scanner_run(&s, &limits, span_of(p->in + at, p->have - at));
        if (v == SCAN_MORE)
            break;
        assert_int_equal(v, SCAN_WHOLE);
        assert_int_equal(p->in[at + 1], 1); /* a response */
    }
    return count;
}

uint32_t peer_receive(struct peer *p, uint32_t count)
{
    uint32_t got;

    while ((got = whole_messages(p)) < count) {
        assert_true(p->have < sizeof p->in);
        ssize_t n = recv(p->fd, p->in + p->have, sizeof p->in - p->have, 0);
        assert_true(n >= 0);
        if (n == 0)
            return got;
        p->have += (size_t)n;
    }
    return got;
}

uint32_t peer_receive_all(struct peer *p)
{
    return peer_receive(p, UINT32_MAX);
}
