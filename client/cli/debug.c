/* ergon debug: the flight recorder of a server, fetched into a file, and such files read. */
#include "client/cli/files.h"
#include "client/cli/output.h"
#include "client/cli/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/recorder_dump.h"
#include "base/utf8.h"
#include "proto/errors.h"
#include "proto/reader.h"

enum {
    DUMP_TIMEOUT_MS = 30 * 1000,
    FILE_MOST = 1 << 30,
    RINGS_MOST = 4096,
    NAME_SIZE = 512, /* bytes of a name that are shown, and a zero */
    NS_PER_S = 1000000000,
    NS_PER_US = 1000
};

/* ---- debug dump ---- */

/* {data, next}: writes the one; the other goes to `next`, which is empty at the end. */
static bool take_part(struct span answer, FILE *out, struct span *next)
{
    struct reader r = reader_of(answer);
    struct span key, data = {0};
    uint32_t pairs;

    *next = (struct span){0};
    if (!read_map(&r, &pairs))
        return false;
    for (uint32_t i = 0; i < pairs; i++) {
        if (!read_text(&r, &key))
            return false;
        bool good = span_is(key, "data")                    ? read_text(&r, &data)
                    : span_is(key, "next") && !read_nil(&r) ? read_any(&r, next)
                                                            : true;
        if (!good)
            return false;
    }
    return fwrite(data.at, 1, data.len, out) == data.len;
}

static enum status fetch(struct session *s, FILE *out)
{
    uint8_t kept[64];
    struct span next = {0};

    do {
        struct span answer;
        struct ergon_request *request = ergon_request_raw(
            "server.debug_dump", (struct ergon_raw){.at = next.at, .len = next.len});
        enum status status = session_ask(s, request, &answer);
        if (status != STATUS_OK)
            return status;
        if (!take_part(answer, out, &next) || next.len > sizeof kept) {
            complain("the dump cannot be written, or the server's answer is none");
            return STATUS_REMOTE;
        }
        if (next.len > 0)
            memcpy(kept, next.at, next.len);
        next.at = kept;
    } while (next.len > 0);
    return STATUS_OK;
}

static enum status run_dump(struct session *s, const void *options, int argc, char **argv)
{
    char text[96];
    const char *path = argc > 0 ? argv[0] : "-";
    FILE *out = stdout;

    (void)options;
    if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO)) {
        complain("a dump is no text: name a file, or let it go into a pipe");
        return STATUS_USAGE;
    }
    if (strcmp(path, "-") != 0)
        out = fopen(path, "we");
    if (out == NULL) {
        complain("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
        return STATUS_USAGE;
    }
    enum status status = fetch(s, out);
    bool written = out == stdout ? fflush(out) == 0 : fclose(out) == 0;
    if (status == STATUS_OK && !written) {
        complain("cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
        return STATUS_REMOTE;
    }
    return status;
}

static const struct command DUMP = {
    .name = "debug dump",
    .arguments = "[FILE]",
    .summary = "fetch what each loop of the server did last",
    .text = "The flight recorder is always on: of each loop the tasks that ended last, some\n"
            "60,000, with connections, refusals and long steps between them. Without a FILE it\n"
            "goes to standard output. The server goes on meanwhile. It asks for the right to\n"
            "server.debug_dump, since all tenants' tasks are in it (no parameters, no results).\n",
    .examples = "  ergon debug dump server.rec\n"
                "  ergon debug dump | ergon debug show -\n",
    .arguments_max = 1,
    .talk = run_dump,
    .timeout_ms = DUMP_TIMEOUT_MS,
};

/* ---- debug show ---- */

struct show_options {
    const char *method, *loop; /* NULL: all */
    uint64_t last_ns, limit;   /* 0: all */
    bool failed;
};

static const struct option_spec SHOW_OPTIONS[] = {
    {0, "method", "NAME", "tasks of this method alone", OPTION_TEXT,
     offsetof(struct show_options, method)},
    {0, "loop", "NAME", "of this loop alone: \"loop 0\", \"manager\"", OPTION_TEXT,
     offsetof(struct show_options, loop)},
    {0, "last", "TIME", "the last so long before the dump was made: 100ms", OPTION_DURATION,
     offsetof(struct show_options, last_ns)},
    {0, "failed", NULL, "tasks that failed, and refusals, alone", OPTION_FLAG,
     offsetof(struct show_options, failed)},
    {'n', "limit", "N", "the last N of what would be shown", OPTION_NUMBER,
     offsetof(struct show_options, limit)},
    {0},
};

struct show {
    const struct show_options *options;
    struct span methods[RECORDER_METHODS + 1], rings[RINGS_MOST]; /* in the file's bytes */
    struct span why;
    uint64_t wall, monotonic, pid, lost;
    struct recorder_event *events;
    size_t count, room;
    bool full; /* out of memory */
};

static void on_start(void *arg, uint64_t wall, uint64_t monotonic, uint64_t pid, struct span why)
{
    struct show *s = arg;
    s->wall = wall;
    s->monotonic = monotonic;
    s->pid = pid;
    s->why = why;
}

static void on_named(void *arg, enum dump_section what, uint32_t index, struct span name)
{
    struct show *s = arg;
    if (what == DUMP_METHOD && index <= RECORDER_METHODS)
        s->methods[index] = name;
    else if (what == DUMP_RING && index < RINGS_MOST)
        s->rings[index] = name;
}

static void on_lost(void *arg, uint32_t ring, uint64_t words)
{
    struct show *s = arg;
    (void)ring;
    s->lost += words;
}

static struct span ring_name(const struct show *s, uint32_t ring)
{
    return ring < RINGS_MOST ? s->rings[ring] : (struct span){0};
}

static bool is_task(const struct recorder_event *e)
{
    return e->kind == RECORDER_NONE;
}

static bool has_method(const struct recorder_event *e)
{
    return is_task(e) || recorder_of_handler(e->kind);
}

static bool is_wanted(const struct show *s, const struct recorder_event *e)
{
    const struct show_options *o = s->options;
    if (o->method && (!has_method(e) || !span_is(s->methods[e->method], o->method)))
        return false;
    if (o->loop && !span_is(ring_name(s, e->ring), o->loop))
        return false;
    if (o->failed && !(is_task(e) ? e->error != 0 : e->kind == RECORDER_REFUSED))
        return false;
    return o->last_ns == 0 || e->time + o->last_ns >= s->monotonic;
}

static void on_event(void *arg, const struct recorder_event *e)
{
    struct show *s = arg;
    if (s->full || !is_wanted(s, e))
        return;
    if (s->count == s->room) {
        size_t room = s->room > 0 ? s->room * 2 : 1024;
        struct recorder_event *more = reallocarray(s->events, room, sizeof *more);
        s->full = more == NULL;
        if (s->full)
            return;
        s->events = more;
        s->room = room;
    }
    s->events[s->count++] = *e;
}

/* Of all rings together.  Those of one time stand as they were read: a merge is stable. */
static void merge(struct recorder_event *at, struct recorder_event *spare, size_t count)
{
    size_t half = count / 2, a = 0, b = half;
    if (count < 2)
        return;
    merge(at, spare, half);
    merge(at + half, spare, count - half);
    memcpy(spare, at, half * sizeof *at);
    for (size_t n = 0; a < half; n++)
        at[n] = b < count && at[b].time < spare[a].time ? at[b++] : spare[a++];
}

static void format_time(const struct show *s, uint64_t time, char *out, size_t size)
{
    uint64_t wall = time > 0 ? s->wall - (s->monotonic - time) : 0;
    time_t seconds = (time_t)(wall / NS_PER_S);
    struct tm tm;
    char day[40] = "";
    if (time > 0 && gmtime_r(&seconds, &tm) != NULL)
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    if (day[0] != 0)
        snprintf(out, size, "%s.%06uZ", day, (unsigned)(wall % NS_PER_S / NS_PER_US));
    else
        snprintf(out, size, "-");
}

static const char *outcome(const struct recorder_event *e)
{
    return e->error == 0                  ? "ok"
           : e->error < ERGON_ERROR_COUNT ? error_name((enum ergon_error)e->error)
                                          : "?";
}

static void format_span(bool known, uint64_t ns, char *out, size_t size)
{
    if (known)
        snprintf(out, size, "%.1f", (double)ns / NS_PER_US);
    else
        snprintf(out, size, "-");
}

/* In one line, whatever the file holds. */
static const char *format_name(struct span name, char out[static NAME_SIZE])
{
    out[utf8_plain(out, NAME_SIZE - 1, name)] = 0;
    return out;
}

static void print_event(const struct show *s, const struct recorder_event *e)
{
    char time[64], wait[32], run[32], ring[NAME_SIZE], method[NAME_SIZE];
    format_time(s, e->time, time, sizeof time);
    format_name(s->methods[e->method], method);
    say("%-27s  %-11s  ", time, format_name(ring_name(s, e->ring), ring));
    if (recorder_of_handler(e->kind)) {
        say("%-12s %12" PRIu64 "  %10s  %10s  %-10s  %s\n", recorder_kind_name(e->kind), e->number,
            "", "", "", method);
        return;
    }
    if (!is_task(e)) {
        if (e->kind == RECORDER_REFUSED && e->value < ERGON_ERROR_COUNT)
            say("%-12s %s\n", recorder_kind_name(e->kind), error_name((enum ergon_error)e->value));
        else
            say("%-12s %" PRIu64 "\n", recorder_kind_name(e->kind), e->value);
        return;
    }
    format_span(e->has_wait, e->wait, wait, sizeof wait);
    format_span(e->has_run, e->run, run, sizeof run);
    say("%-12s %12" PRIu64 "  %10s  %10s  %-10s  %s\n", "task", e->number, wait, run, outcome(e),
        method);
}

static json_t *text_of(struct span text)
{
    json_t *value = json_stringn((const char *)text.at, text.len);
    return value != NULL ? value : json_null();
}

static enum status print_event_json(const struct show *s, const struct recorder_event *e)
{
    char time[64];
    format_time(s, e->time, time, sizeof time);
    json_t *o =
        json_pack("{s:s, s:s, s:o}", "event", is_task(e) ? "task" : recorder_kind_name(e->kind),
                  "time", time, "loop", text_of(ring_name(s, e->ring)));
    if (o != NULL && has_method(e)) {
        json_object_set_new(o, "method", text_of(s->methods[e->method]));
        json_object_set_new(o, "task", json_integer((json_int_t)e->number));
    }
    if (o != NULL && is_task(e)) {
        json_object_set_new(o, "outcome", json_string(outcome(e)));
        if (e->has_wait)
            json_object_set_new(o, "wait_ns", json_integer((json_int_t)e->wait));
        if (e->has_run)
            json_object_set_new(o, "run_ns", json_integer((json_int_t)e->run));
    } else if (o != NULL && !has_method(e)) {
        json_object_set_new(o, "value", json_integer((json_int_t)e->value));
    }
    return print_json(o);
}

static enum status print_all(const struct globals *g, const struct show *s)
{
    char time[64], why[NAME_SIZE];
    uint64_t limit = s->options->limit;
    size_t first = limit > 0 && limit < s->count ? s->count - (size_t)limit : 0;
    if (!g->json) {
        format_time(s, s->monotonic, time, sizeof time);
        say("# pid %" PRIu64 ", dumped %s: %s\n", s->pid, time, format_name(s->why, why));
        say("# %-25s  %-11s  %-12s %12s  %10s  %10s  %-10s  %s\n", "TIME", "LOOP", "EVENT",
            "NUMBER", "WAIT us", "RUN us", "OUTCOME", "METHOD");
    }
    for (size_t i = first; i < s->count; i++) {
        enum status status = STATUS_OK;
        if (g->json)
            status = print_event_json(s, &s->events[i]);
        else
            print_event(s, &s->events[i]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static bool sort(struct show *s)
{
    struct recorder_event *spare = calloc(s->count / 2 + 1, sizeof *spare);
    if (spare != NULL)
        merge(s->events, spare, s->count);
    free(spare);
    return spare != NULL && !s->full;
}

static enum status read_and_print(const struct globals *g, struct show *s, struct span file,
                                  const char *path)
{
    const struct dump_reader reader = {
        .arg = s, .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};
    enum dump_verdict verdict = dump_read(file, &reader);
    if (verdict == DUMP_FOREIGN) {
        complain("%s is no dump of the flight recorder", path);
        return STATUS_USAGE;
    }
    if (!sort(s)) {
        complain("out of memory");
        return STATUS_REMOTE;
    }
    enum status status = print_all(g, s);
    if (verdict == DUMP_CUT && !g->quiet)
        complain("%s ends early: what it holds was shown", path);
    if (s->lost > 0 && !g->quiet)
        complain("%" PRIu64 " words were overwritten while the dump was made", s->lost);
    return status == STATUS_OK && verdict == DUMP_CUT ? STATUS_REMOTE : status;
}

static enum status run_show(const struct globals *g, const void *options, int argc, char **argv)
{
    struct file_bytes file;
    struct show *s;

    (void)argc;
    if (!file_read(argv[0], FILE_MOST, &file))
        return STATUS_USAGE;
    s = calloc(1, sizeof *s);
    enum status status = STATUS_REMOTE;
    if (s != NULL) {
        s->options = options;
        status = read_and_print(g, s, span_of(file.at, file.len), argv[0]);
        free(s->events);
    }
    free(s);
    file_bytes_fini(&file);
    return status;
}

static const struct command SHOW = {
    .name = "debug show",
    .arguments = "FILE",
    .summary = "read such a dump, without a server",
    .text = "A line an event, all loops together in order of time. A task's time is that of the\n"
            "round in which it ended; how long it ran is measured of one in 32 brief ones, and\n"
            "of all others; - is not known. Exit status 1: the file ends early, and what it\n"
            "holds was shown. - reads standard input.\n",
    .examples = "  ergon debug show server.rec --last 1s --failed\n"
                "  ergon debug show server.rec --method hash --json | jq .run_ns\n",
    .options = SHOW_OPTIONS,
    .options_size = sizeof(struct show_options),
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_show,
};

static const struct command *const PARTS[] = {&DUMP, &SHOW, NULL};

const struct command DEBUG = {
    .name = "debug",
    .summary = "what the server did last: fetch its flight recorder, read it",
    .text = "For whoever asks what happened just before: which tasks ended, when, on which\n"
            "loop, with what outcome.\n",
    .examples = "  ergon debug dump server.rec\n"
                "  ergon debug show server.rec --last 1s\n",
    .parts = PARTS,
};
