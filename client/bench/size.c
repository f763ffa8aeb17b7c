#include "client/bench/size.h"

#include "base/units.h"

enum { EXPONENTIAL_CUT = 16 }; /* means: one in nine million is longer */

static const char *const WANTED =
    "a size of at most 1g, as 64, 64k or 1m, or uniform:64-4k, or exponential:1k";

/* A bare number means bytes. */
static bool parse_bytes(struct span text, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < text.len && text.at[i] >= '0' && text.at[i] <= '9' && n <= BENCH_SIZE_MAX; i++)
        n = n * 10 + (uint64_t)(text.at[i] - '0');
    *out = n;
    if (text.len == 0 || (i < text.len && !units_size(text, out)))
        return false;
    return *out <= BENCH_SIZE_MAX;
}

static const char *parse_uniform(const char *text, struct bench_size *out)
{
    const char *dash = strchr(text, '-');
    out->kind = SIZE_UNIFORM;
    if (dash == NULL || !parse_bytes(span_of(text, (size_t)(dash - text)), &out->least) ||
        !parse_bytes(span_text(dash + 1), &out->most) || out->least > out->most)
        return WANTED;
    return NULL;
}

static const char *parse_exponential(const char *text, struct bench_size *out)
{
    out->kind = SIZE_EXPONENTIAL;
    if (!parse_bytes(span_text(text), &out->mean))
        return WANTED;
    out->most = out->mean * EXPONENTIAL_CUT;
    if (out->most > BENCH_SIZE_MAX)
        out->most = BENCH_SIZE_MAX;
    return NULL;
}

const char *bench_size_parse(const char *text, struct bench_size *out)
{
    const char *colon = strchr(text, ':');
    *out = (struct bench_size){0};
    if (colon == NULL) {
        bool good = parse_bytes(span_text(text), &out->most);
        out->least = out->most;
        return good ? NULL : WANTED;
    }
    struct span kind = span_of(text, (size_t)(colon - text));
    if (span_is(kind, "uniform"))
        return parse_uniform(colon + 1, out);
    if (span_is(kind, "exponential"))
        return parse_exponential(colon + 1, out);
    return WANTED;
}

uint32_t bench_size_draw_random(const struct bench_size *s, struct bench_random *random)
{
    double size = s->kind == SIZE_EXPONENTIAL
                      ? bench_random_exponential(random, (double)s->mean)
                      : (double)s->least + /* the unit is never 0: the draw is never above `most` */
                            (1 - bench_random_unit(random)) * (double)(s->most - s->least + 1);
    return size < (double)s->most ? (uint32_t)size : (uint32_t)s->most;
}
