/* A dump of the flight recorder.
 *
 * An input begins with a byte that says which:
 *   - the bytes of a file: what is told of a part of it is told of the whole, first; no more is
 *     told than there are words; and `ergon debug show` prints a line an event, which cannot steer
 *     a terminal, or JSON, whatever names stand in it;
 *   - what a thread puts into its ring: the file of that tells it again. */
#include <jansson.h>
#include <string.h>

#include "base/recorder_dump.h"
#include "client/cli/cli.h"
#include "client/cli/output.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/fuzz/fuzz_output.h"
#include "tests/fuzz/fuzz_rest.h"

enum { FILE_ROOM = 65536, PUTS_MAX = 256, WORDS_MAX = 4 * PUTS_MAX };

/* ---- what is told ---- */

struct told {
    uint64_t sum; /* of all, in order */
    size_t calls, events, starts;
    size_t stop;      /* after so many calls `at_stop` is kept; 0: never */
    uint64_t at_stop; /* `sum` then */
};

static void add(struct told *t, uint64_t value)
{
    t->sum = (t->sum ^ value) * UINT64_C(0x100000001b3);
}

static void add_text(struct told *t, struct span text)
{
    add(t, text.len);
    for (size_t i = 0; i < text.len; i++)
        add(t, text.at[i]);
}

static void end_call(struct told *t)
{
    if (++t->calls == t->stop)
        t->at_stop = t->sum;
}

static void on_start(void *arg, uint64_t wall, uint64_t monotonic, uint64_t pid, struct span why)
{
    struct told *t = arg;

    add(t, wall);
    add(t, monotonic);
    add(t, pid);
    add_text(t, why);
    t->starts++;
    end_call(t);
}

static void on_named(void *arg, enum dump_section what, uint32_t index, struct span name)
{
    struct told *t = arg;

    CHECK(what == DUMP_METHOD || what == DUMP_RING);
    add(t, what);
    add(t, index);
    add_text(t, name);
    end_call(t);
}

static void on_event(void *arg, const struct recorder_event *e)
{
    struct told *t = arg;
    bool task = e->kind == RECORDER_NONE;

    CHECK(e->kind < RECORDER_KIND_COUNT && e->kind != RECORDER_CLOCK && e->kind != RECORDER_RUN);
    CHECK(e->kind != RECORDER_WAIT && e->kind != RECORDER_FAILED);
    CHECK(e->method <= RECORDER_METHODS && e->value <= RECORDER_VALUE_MAX);
    CHECK(e->time <= RECORDER_VALUE_MAX);
    CHECK(e->run <= RECORDER_SPAN_MAX && e->wait <= RECORDER_SPAN_MAX);
    CHECK(task || (!e->has_run && !e->has_wait && e->error == 0));
    add(t, e->kind);
    add(t, e->ring);
    add(t, e->time);
    add(t, e->value);
    add(t, e->method);
    add(t, e->number);
    add(t, e->run);
    add(t, e->wait);
    add(t, e->error);
    t->events++;
    end_call(t);
}

static void on_lost(void *arg, uint32_t ring, uint64_t words)
{
    CHECK(words > 0);
    add(arg, ring);
    add(arg, words);
    end_call(arg);
}

static enum dump_verdict tell(struct span file, struct told *t)
{
    const struct dump_reader reader = {
        .arg = t, .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};

    return dump_read(file, &reader);
}

/* ---- a file ---- */

/* What a part of a file tells is the beginning of what the whole tells. */
static void check_part(struct span file, size_t len)
{
    struct told part = {0};
    enum dump_verdict verdict = tell(span_of(file.at, len), &part);

    CHECK((verdict == DUMP_FOREIGN) == (len < DUMP_MAGIC || memcmp(file.at, dump_magic, 8) != 0));
    if (part.calls == 0)
        return;
    struct told whole = {.stop = part.calls};
    tell(file, &whole);
    CHECK(whole.calls >= part.calls && whole.at_stop == part.sum);
}

static const struct command *find_show(void)
{
    for (size_t i = 0; DEBUG.parts[i]; i++)
        if (strcmp(DEBUG.parts[i]->name, "debug show") == 0)
            return DEBUG.parts[i];
    abort();
}

/* Options as they are parsed from words, since what they fill is the command's own. */
static void parse_options(const struct command *c, void *options, uint8_t how)
{
    static char *const words[] = {(char *)(uintptr_t) "--method=echo",
                                  (char *)(uintptr_t) "--loop=loop 0",
                                  (char *)(uintptr_t) "--last=1s", (char *)(uintptr_t) "--failed",
                                  (char *)(uintptr_t) "--limit=3"};
    struct option_set set = {c->options, options};
    char *argv[sizeof words / sizeof *words], why[200];
    int argc = 0;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (how & 1 << i)
            argv[argc++] = words[i];
    CHECK(options_parse(&set, 1, &argc, argv, false, why, sizeof why) && argc == 0);
}

static void check_json(struct span line)
{
    json_error_t error;
    json_t *value = json_loadb((const char *)line.at, line.len, JSON_ALLOW_NUL, &error);

    CHECK(json_is_object(value) && json_object_get(value, "event"));
    json_decref(value);
}

static void check_jsons(struct span text, size_t events)
{
    for (size_t i = 0; i < events; i++) {
        const uint8_t *end = memchr(text.at, '\n', text.len);
        CHECK(end);
        check_json(span_of(text.at, (size_t)(end - text.at)));
        text = span_behind(text, (size_t)(end - text.at) + 1);
    }
}

static void check_shown(struct span file, uint8_t how, const struct told *told,
                        enum dump_verdict verdict)
{
    enum { HEAD = 2 };
    static const struct command *show;
    static struct fuzz_file on_disk;
    uint64_t options[32] = {0};
    struct globals g = {.json = how & 0x20, .quiet = true, .no_color = true};
    char *argv[] = {on_disk.path};

    if (!show) {
        fuzz_file_open(&on_disk, span_of(NULL, 0));
        show = find_show();
        CHECK(show->options_size <= sizeof options);
    }
    parse_options(show, options, how);
    fuzz_file_set(&on_disk, file);
    fuzz_output_begin();
    enum status status = show->run(&g, options, 1, argv);
    struct span text = fuzz_output_end();
    fuzz_check_plain(text, false);
    CHECK((status == STATUS_USAGE) == (verdict == DUMP_FOREIGN));
    if (verdict == DUMP_FOREIGN)
        return;
    size_t lines = fuzz_lines(text), head = g.json ? 0 : HEAD;
    CHECK(lines >= head && lines - head <= told->events);
    CHECK((how & 0x1f) != 0 || lines - head == told->events);
    CHECK((how & 0x10) == 0 || lines - head <= 3);
    if (g.json)
        check_jsons(text, lines);
}

static void check_file(uint8_t how, size_t cut)
{
    struct told told = {0};
    struct span file = fuzz_rest();
    enum dump_verdict verdict = tell(file, &told);

    CHECK(told.events * 8 <= file.len);
    check_part(file, cut < file.len ? cut : file.len);
    check_shown(file, how, &told, verdict);
}

/* ---- a ring ---- */

static struct {
    struct recorder *ring;
    struct told told; /* what is to be told */
    struct recorder_event next;
} put;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void expect(struct recorder_event e)
{
    e.ring = put.next.ring;
    e.time = put.next.time;
    on_event(&put.told, &e);
}

static void put_task(void)
{
    uint32_t method = (uint32_t)fuzz_number();
    uint64_t n = fuzz_number() & ((UINT64_C(1) << RECORDER_NUMBER_BITS) - 1);

    recorder_task(put.ring, recorder_method(method), n);
    put.next.method = (uint32_t)least(method, RECORDER_METHODS);
    put.next.number = n;
    expect(put.next);
    put.next = (struct recorder_event){.ring = put.next.ring, .time = put.next.time};
}

static void put_span(enum recorder_kind kind)
{
    uint64_t ns = fuzz_number();

    recorder_span(put.ring, kind, 7, ns);
    if (kind == RECORDER_RUN) {
        put.next.has_run = true;
        put.next.run = least(ns, RECORDER_SPAN_MAX);
    } else {
        put.next.has_wait = true;
        put.next.wait = least(ns, RECORDER_SPAN_MAX);
    }
}

static void put_note(uint8_t which)
{
    static const enum recorder_kind kinds[] = {
        RECORDER_OPENED,    RECORDER_CLOSED, RECORDER_REFUSED, RECORDER_SLEPT,
        RECORDER_LONG_STEP, RECORDER_DRAIN,  RECORDER_RELOAD};
    enum recorder_kind kind = kinds[which % (sizeof kinds / sizeof *kinds)];
    uint64_t value = fuzz_number();

    recorder_note(put.ring, kind, value);
    expect((struct recorder_event){.kind = kind, .value = least(value, RECORDER_VALUE_MAX)});
}

static void put_handler(enum recorder_kind kind)
{
    uint32_t method = (uint32_t)fuzz_number();
    uint64_t n = fuzz_number();

    recorder_handler(put.ring, kind, recorder_method(method), n);
    method = (uint32_t)least(method, RECORDER_METHODS);
    n &= (UINT64_C(1) << RECORDER_SHORT_BITS) - 1;
    expect((struct recorder_event){.kind = kind,
                                   .method = method,
                                   .number = n,
                                   .value = (uint64_t)method << RECORDER_SHORT_BITS | n});
}

static void put_one(uint8_t op)
{
    switch (op % 8) {
    case 0:
    case 1:
        put_task();
        return;
    case 2:
        put.next.time = fuzz_number() & RECORDER_VALUE_MAX;
        recorder_clock(put.ring, put.next.time);
        return;
    case 3:
        put_span(RECORDER_RUN);
        return;
    case 4:
        put_span(RECORDER_WAIT);
        return;
    case 5:
        put.next.error = fuzz_byte();
        recorder_note(put.ring, RECORDER_FAILED, put.next.error);
        return;
    case 6:
        put_note(fuzz_byte());
        return;
    default:
        put_handler(fuzz_byte() % 2 ? RECORDER_BEGAN : RECORDER_ENDED);
    }
}

static void check_ring(void)
{
    static uint8_t file[FILE_ROOM];
    static uint64_t words[WORDS_MAX];
    struct told again = {0};
    uint64_t wall = fuzz_number(), monotonic = fuzz_number(), pid = fuzz_number();

    memset(&put, 0, sizeof put);
    put.ring = recorder_new();
    CHECK(put.ring);
    on_start(&put.told, wall, monotonic, pid, span_of(NULL, 0));
    on_named(&put.told, DUMP_RING, 0, span_of(NULL, 0));
    for (int i = 0; i < PUTS_MAX && fuzz_more(); i++)
        put_one(fuzz_byte());
    uint32_t count = (uint32_t)atomic_load(&put.ring->written);
    CHECK(count <= WORDS_MAX);
    for (uint32_t i = 0; i < count; i++)
        words[i] = atomic_load(&put.ring->words[i]);
    uint8_t *end = dump_start(file, wall, monotonic, pid, 0);
    end = dump_named(end, DUMP_RING, 0, 0);
    uint32_t half = count / 2;
    end = dump_words(end, 0, 0, words, half);
    end = dump_words(end, 0, half, words + half, count - half);
    end = dump_end(end);
    CHECK(tell(span_of(file, (size_t)(end - file)), &again) == DUMP_WHOLE);
    CHECK(again.sum == put.told.sum && again.events == put.told.events);
    recorder_free(put.ring);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    if (how & 0x80)
        check_ring();
    else
        check_file(how, (size_t)fuzz_byte() << (how & 7));
}
