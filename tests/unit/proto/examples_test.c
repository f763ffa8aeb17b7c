/* The examples of PROTOCOL.md and vectors.txt are what they say they are: each reads, each starts
 * with bytes of the client, and each whole answer is one message: a response, or what a worker is
 * sent.  (That the server answers so is
 * for the test that replays them.) */
#include "proto/envelope.h"
#include "proto/scanner.h"
#include "tests/support/cmocka_env.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_MAX_BYTES = 4096, EXAMPLES_MAX = 1000 };

struct examples {
    const char *path;
    bool fenced; /* examples stand in ```hex fences, else in paragraphs */
    bool inside;
    bool first; /* the next line of bytes is the first of its example */
    int least;  /* fewer examples were read: the reading is broken */
    int count;
    int line; /* number of the current one */
};

/* Bytes of a line up to the first token that is no pair of hex digits, which is *rest. */
static size_t read_bytes(const char *text, uint8_t *bytes, const char **rest)
{
    size_t n = 0;
    unsigned byte;
    int used;

    while (sscanf(text, " %2x%n", &byte, &used) == 1) {
        bytes[n++] = (uint8_t)byte;
        text += used;
    }
    *rest = text + strspn(text, " \n");
    return n;
}

static void check_answer(const struct examples *x, const char *text)
{
    static const struct scan_limits limits = {.message_max = LINE_MAX_BYTES, .depth_max = 32};
    uint8_t bytes[LINE_MAX_BYTES];
    const char *rest;
    struct scanner s;
    struct envelope e;
    const char *why;

    if (strcmp(text, " close\n") == 0)
        return;
    size_t n = read_bytes(text, bytes, &rest);
    bool four = n >= 2 && bytes[0] == 0x94 && bytes[1] <= 0x01;
    if (!four && !(n >= 2 && bytes[0] == 0x93 && bytes[1] == 0x02))
        fail_msg("%s:%d: is no message", x->path, x->line);
    if (*rest == '*' || *rest == '.')
        return;
    scanner_init(&s);
    if (*rest != '\0' || scanner_run(&s, &limits, span_of(bytes, n)) != SCAN_WHOLE || s.done != n)
        fail_msg("%s:%d: is not one whole value", x->path, x->line);
    assert_int_equal(envelope_read(span_of(bytes, n), &e, &why), ENVELOPE_OK);
}

static void check_line(struct examples *x, const char *line)
{
    uint8_t bytes[LINE_MAX_BYTES];
    const char *rest;

    if (line[0] == '#')
        return;
    if (strncmp(line, "C:", 2) == 0) {
        size_t n = read_bytes(line + 2, bytes, &rest);
        if (n == 0 || *rest != '\0')
            fail_msg("%s:%d: is not hex", x->path, x->line);
        x->count += x->first;
        x->first = false;
        return;
    }
    if (strncmp(line, "S:", 2) != 0 || x->first)
        fail_msg("%s:%d: an example starts with C: and goes on with C: or S:", x->path, x->line);
    check_answer(x, line + 2);
}

static void check_all(struct examples *x)
{
    char line[LINE_MAX_BYTES];
    FILE *f = fopen(x->path, "r");

    assert_non_null(f);
    for (x->line = 1; fgets(line, sizeof line, f) != NULL; x->line++) {
        bool border = x->fenced ? strncmp(line, "```", 3) == 0 : line[0] == '\n';
        if (border) {
            x->inside = !x->fenced || strcmp(line, "```hex\n") == 0;
            x->first = true;
        } else if (x->inside) {
            check_line(x, line);
        }
    }
    fclose(f);
    assert_in_range(x->count, x->least, EXAMPLES_MAX);
}

TEST(the_document_has_good_examples)
{
    struct examples x = {.path = PROTO_PATH "/PROTOCOL.md", .fenced = true, .least = 1};

    check_all(&x);
}

TEST(the_vectors_are_good)
{
    struct examples x = {
        .path = PROTO_PATH "/vectors.txt", .inside = true, .first = true, .least = 110};

    check_all(&x);
}
