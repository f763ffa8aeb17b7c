#include "sim/user/pipe.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"

enum { HEAD = 4, MESSAGE_MAX = 64 << 20 };

static void write_all(const uint8_t *at, size_t len)
{
    while (len > 0) {
        ssize_t sent = write(STDOUT_FILENO, at, len);
        if (sent <= 0)
            _exit(1);
        at += sent;
        len -= (size_t)sent;
    }
}

static void read_all(uint8_t *at, size_t len)
{
    while (len > 0) {
        ssize_t got = read(STDIN_FILENO, at, len);
        if (got <= 0)
            _exit(1);
        at += got;
        len -= (size_t)got;
    }
}

void pipe_write(struct span message)
{
    size_t len = message.len;
    uint8_t head[HEAD] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8),
                          (uint8_t)len};
    write_all(head, HEAD);
    write_all(message.at, len);
}

struct span pipe_read(void)
{
    static uint8_t *room;
    static size_t size;
    uint8_t head[HEAD];
    read_all(head, HEAD);
    size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    require(len <= MESSAGE_MAX, "a message on standard input is too long");
    if (len > size) {
        room = realloc(room, len);
        size = len;
        require(room != NULL, "no memory for a message");
    }
    read_all(room, len);
    return span_of(room, len);
}
