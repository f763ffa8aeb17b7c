#include "server/admin/gzip.h"

#include <event2/buffer.h>
#include <zlib.h>

enum {
    GZIP_HEAD = 16, /* added to the bits of the window: gzip's head and end, not zlib's */
    MEMORY_LEVEL = 8,
    PIECE = 16384 /* bytes */
};

bool gzip_add(struct evbuffer *out, const void *bytes, size_t length)
{
    z_stream z = {.next_in = (z_const Bytef *)bytes, .avail_in = (uInt)length};
    unsigned char piece[PIECE];
    bool good = true;
    int status = Z_OK;

    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP_HEAD, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    while (good && status == Z_OK) {
        z.next_out = piece;
        z.avail_out = sizeof piece;
        status = deflate(&z, Z_FINISH);
        good = evbuffer_add(out, piece, sizeof piece - z.avail_out) == 0;
    }
    deflateEnd(&z);
    return good && status == Z_STREAM_END;
}
