#include "tests/unit/server/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

static const char *const measures[] = {[PLACEMENT_OCCUPANCY] = "occupancy",
                                       [PLACEMENT_LENGTH] = "length",
                                       [PLACEMENT_PRIORITY] = "priority",
                                       [PLACEMENT_WEIGHT] = "weight",
                                       [PLACEMENT_COMPLETION] = "completion"};
static const char *const idles[] = {"sleep", "auto", "spin", "never"};

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(draw(state) % bound);
}

struct shape shape_of(uint64_t seed)
{
    struct shape s = {.loops = 1 + below(&seed, 3)};

    s.unix_too = below(&seed, 4) == 0;
    s.own_manager = below(&seed, 2);
    s.short_cut = below(&seed, 3) > 0;
    s.policy = (enum placement_policy)below(&seed, sizeof measures / sizeof measures[0]);
    s.idle = idles[below(&seed, sizeof idles / sizeof idles[0])];
    s.queue = 1 + below(&seed, 8);
    s.parked = 1 + below(&seed, 64);
    s.blocking = 1 + below(&seed, 3);
    s.executors = s.loops + s.blocking;
    if (below(&seed, 2)) {
        s.listed = 2 + below(&seed, SHAPE_LISTED_MAX - 1);
        s.kinds = (below(&seed, 1u << SHAPE_LISTED_MAX) | 1u) & ~2u; /* one of each at least */
        s.placements = below(&seed, 1u << SHAPE_LISTED_MAX);
        s.executors = s.listed;
    }
    s.store = below(&seed, 2);
    return s;
}

struct writer {
    char *at;
    size_t left;
};

static void say(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct writer *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int n = vsnprintf(w->at, w->left, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < w->left);
    w->at += n;
    w->left -= (size_t)n;
}

static void say_listed(struct writer *w, const struct shape *s, uint32_t i)
{
    bool blocking = s->kinds >> i & 1, placed = s->placements >> i & 1;

    say(w, "    - {kind: %s, queue: %u, weight: %u", blocking ? "blocking" : "stepped", s->queue,
        1 + i);
    if (placed && blocking)
        say(w, ", core: 0, priority: %u", i);
    else if (placed)
        say(w, ", loop: %u", i % s->loops);
    say(w, "}\n");
}

static void say_executors(struct writer *w, const struct shape *s)
{
    say(w, "executors:\n");
    if (s->listed == 0) {
        say(w, "  stepped: {queue: %u, parked: %u}\n", s->queue, s->parked);
        say(w, "  blocking: {count: %u, queue: %u}\n", s->blocking, s->queue);
        return;
    }
    say(w, "  stepped: {parked: %u}\n", s->parked);
    say(w, "  list:\n");
    for (uint32_t i = 0; i < s->listed; i++)
        say_listed(w, s, i);
}

void shape_yaml(const struct shape *s, const char *directory, char *buf, size_t size)
{
    struct writer w = {buf, size};

    say(&w, "listen:\n  - ergon://127.0.0.1:0\n");
    if (s->unix_too)
        say(&w, "  - unix://%s/ergond.sock\n", directory);
    say(&w, "loops: {count: %u}\n", s->loops);
    say_executors(&w, s);
    say(&w, "manager: {place: %s}\n", s->own_manager ? "own" : "loop");
    say(&w, "measure: %s\nshortcut: %s\n", measures[s->policy], s->short_cut ? "true" : "false");
    say(&w, "idle: {mode: %s, spin: 20us}\n", s->idle);
    say(&w, "limits: {connections: 64}\n");
    if (s->store)
        say(&w, "store: %s/tasks.db\ntenants: [{name: ada, weight: 2}]\n", directory);
}
