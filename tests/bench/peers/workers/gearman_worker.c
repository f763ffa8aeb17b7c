/* A worker of Gearman that gives back what it was given.
 *
 *     gearman_worker PORT FUNCTION GRAB      GRAB: how many GRAB_JOB it keeps in flight;
 * libgearman's workers keep 1 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/bench/outgoing.h"
#include "tests/bench/peers/common/gearman.h"

enum { READ_MAX = 1 << 20 };

struct worker {
    int fd;
    unsigned grab, grabbing; /* wanted and asked for */
    char *in;
    size_t held;
    struct outgoing out;
};

static bool send_packet(struct worker *w, uint32_t kind, const char *bytes, size_t len)
{
    if (!outgoing_has_room(&w->out) && !socket_write_all(w->fd, &w->out))
        return false;
    gearman_head(outgoing_at(&w->out), GEARMAN_REQUEST, kind, len);
    outgoing_wrote(&w->out, GEARMAN_HEAD);
    if (len > 0)
        outgoing_add(&w->out, bytes, len);
    return true;
}

static bool grab_more(struct worker *w)
{
    for (; w->grabbing < w->grab; w->grabbing++)
        if (!send_packet(w, GEARMAN_GRAB_JOB, NULL, 0))
            return false;
    return true;
}

/* JOB_ASSIGN is handle\0function\0data; WORK_COMPLETE handle\0data, which is made in place. */
static bool on_job(struct worker *w, char *body, size_t len)
{
    size_t handle = strnlen(body, len) + 1;
    size_t function = handle < len ? strnlen(body + handle, len - handle) + 1 : 0;

    if (handle + function > len)
        return errno = EPROTO, false;
    memmove(body + function, body, handle);
    w->grabbing--;
    return send_packet(w, GEARMAN_WORK_COMPLETE, body + function, len - function);
}

/* No job on any grab: the server wakes us with NOOP. */
static bool on_no_job(struct worker *w)
{
    return --w->grabbing > 0 || send_packet(w, GEARMAN_PRE_SLEEP, NULL, 0);
}

static bool on_packet(struct worker *w, char *at, size_t size, bool *grabs)
{
    switch (gearman_kind(at)) {
    case GEARMAN_JOB_ASSIGN:
        *grabs = true;
        return on_job(w, at + GEARMAN_HEAD, size - GEARMAN_HEAD);
    case GEARMAN_NO_JOB:
        return on_no_job(w);
    case GEARMAN_NOOP:
        *grabs = true;
        return true;
    default:
        return errno = EPROTO, false;
    }
}

static bool serve_once(struct worker *w)
{
    ssize_t n = recv(w->fd, w->in + w->held, READ_MAX - w->held, 0);
    size_t at = 0, end = w->held + (size_t)(n > 0 ? n : 0);
    bool grabs = false;

    if (n <= 0)
        return false;
    while (end - at >= GEARMAN_HEAD && end - at >= gearman_size(w->in + at)) {
        size_t size = gearman_size(w->in + at);
        if (!on_packet(w, w->in + at, size, &grabs))
            return false;
        at += size;
    }
    if ((grabs && !grab_more(w)) || !socket_write_all(w->fd, &w->out))
        return false;
    memmove(w->in, w->in + at, end - at);
    w->held = end - at;
    return true;
}

int main(int argc, char **argv)
{
    struct worker w = {.in = malloc(READ_MAX)};

    if (argc != 4)
        return fprintf(stderr, "usage: gearman_worker PORT FUNCTION GRAB\n"), 2;
    w.grab = (unsigned)atoi(argv[3]);
    w.fd = socket_connect((uint16_t)atoi(argv[1]));
    if (w.fd < 0 || !w.in || !outgoing_init(&w.out))
        return perror("gearman_worker"), 1;
    send_packet(&w, GEARMAN_CAN_DO, argv[2], strlen(argv[2]));
    bool ok = grab_more(&w) && socket_write_all(w.fd, &w.out);
    puts("ready");
    fflush(stdout);
    while (ok)
        ok = serve_once(&w);
    if (errno != 0)
        perror("gearman_worker");
    return 1;
}
