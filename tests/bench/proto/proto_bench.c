/* What a message costs: the scanner alone, scanner and envelope, and msgpack-c's unpacker beside
 * them.  Best of several rounds. */
#include "base/clock.h"
#include "proto/encoder.h"
#include "proto/envelope.h"
#include "proto/scanner.h"
#include "tests/bench/support/report.h"

#include <msgpack.h>
#include <stdlib.h>

enum { ROUNDS = 7, BYTES_A_ROUND = 64 << 20, MESSAGES_A_ROUND_MAX = 2000000, ROOM = 1 << 21 };

static const struct scan_limits limits = {.message_max = 16 << 20, .depth_max = 32};

static volatile size_t sink; /* keeps what is measured from being left out */

static double now(void)
{
    return (double)clock_monotonic();
}

static size_t scan(struct span message)
{
    struct scanner s;

    scanner_init(&s);
    return scanner_run(&s, &limits, message) == SCAN_WHOLE ? s.done : 0;
}

static size_t scan_and_read(struct span message)
{
    struct envelope e;
    const char *why;

    if (scan(message) == 0 || envelope_read(message, &e, &why) != ENVELOPE_OK)
        return 0;
    return e.method.len;
}

static size_t unpack(struct span message)
{
    msgpack_unpacked u;
    size_t off = 0;

    msgpack_unpacked_init(&u);
    msgpack_unpack_next(&u, (const char *)message.at, message.len, &off);
    msgpack_unpacked_destroy(&u);
    return off;
}

/* ns a message, the best round. */
static double measure(size_t (*work)(struct span), struct span message)
{
    size_t count = BYTES_A_ROUND / message.len;
    double best = 1e18;

    if (count > MESSAGES_A_ROUND_MAX)
        count = MESSAGES_A_ROUND_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (size_t i = 0; i < count; i++)
            sink = work(message);
        double each = (now() - start) / (double)count;
        best = each < best ? each : best;
    }
    return best;
}

static void row(struct report *r, const char *name, uint8_t *start, uint8_t *end)
{
    struct span message = span_of(start, (size_t)(end - start));
    double bytes = (double)message.len;
    double s = measure(scan, message);
    double e = measure(scan_and_read, message);
    double m = measure(unpack, message);

    report_row(r, name, (double[]){bytes, s, bytes / s * 1e3, e, m, bytes / m * 1e3, m / e});
}

/* [0, 4711, "echo", [ : the head of every request. */
static uint8_t *put_head(uint8_t *p)
{
    p = enc_uint(enc_uint(enc_array(p, 4), 0), 4711);
    return enc_array(enc_str(p, span_text("echo")), 1);
}

static uint8_t *put_bin(uint8_t *p, uint32_t len)
{
    p = enc_bin_head(put_head(p), len);
    memset(p, 'x', len);
    return p + len;
}

static uint8_t *put_integers(uint8_t *p, uint32_t count)
{
    p = enc_array(put_head(p), count);
    for (uint32_t i = 0; i < count; i++)
        p = enc_uint(p, i);
    return p;
}

static uint8_t *put_maps(uint8_t *p, uint32_t count)
{
    p = enc_array(put_head(p), count);
    for (uint32_t i = 0; i < count; i++) {
        p = enc_map(p, 3);
        p = enc_uint(enc_str(p, span_text("id")), 1000000 + i);
        p = enc_str(enc_str(p, span_text("name")), span_text("somebody or other"));
        p = enc_bool(enc_str(p, span_text("active")), true);
    }
    return p;
}

int main(int argc, char **argv)
{
    static const struct report_column columns[] = {
        {"bytes", 0},        {"scan ns", 1},        {"scan MB/s", 0}, {"scan and read ns", 1},
        {"msgpack-c ns", 1}, {"msgpack-c MB/s", 0}, {"ratio", 1}};
    uint8_t *room = malloc(ROOM);
    struct report r;

    if (room == NULL)
        return EXIT_FAILURE;
    report_begin(&r, "proto", argc, argv);
    report_table(&r, "A message: scanned, scanned and read, unpacked by msgpack-c", "request",
                 columns, 7);
    row(&r, "echo, 1 integer", room, enc_uint(put_head(room), 5));
    row(&r, "echo, 64 bytes", room, put_bin(room, 64));
    row(&r, "echo, 64 KiB", room, put_bin(room, 65536));
    row(&r, "echo, 1000 integers", room, put_integers(room, 1000));
    row(&r, "echo, 1000 maps of 3", room, put_maps(room, 1000));
    report_end(&r);
    free(room);
    return EXIT_SUCCESS;
}
