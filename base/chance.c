#include "base/chance.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

bool chance_bytes(void *out, size_t size)
{
    uint8_t *at = out;

    /* A signal may cut a call short. */
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}
