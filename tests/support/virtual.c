#include "tests/support/virtual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "tests/support/cmocka_env.h"

static ao_time clock_now(void *arg)
{
    const struct virtual *v = arg;
    return v->now;
}

static void append(struct virtual *v, const char *text, size_t length)
{
    if (v->length + length + 1 > v->room) {
        v->room = 2 * (v->length + length + 1);
        v->text = realloc(v->text, v->room);
        assert_non_null(v->text);
    }
    memcpy(v->text + v->length, text, length);
    v->length += length;
    v->text[v->length] = '\0';
}

static void record(void *arg, const char *line)
{
    append(arg, line, strlen(line));
    append(arg, "\n", 1);
}

void virtual_init(struct virtual *v)
{
    *v = (struct virtual){0};
    v->clock = (struct ao_clock){.now = clock_now, .arg = v};
    v->trace = (struct trace){.line = record, .arg = v};
    append(v, "", 0);
}

void virtual_fini(struct virtual *v)
{
    for (int i = v->count - 1; i >= 0; i--)
        if (v->pollers[i].activator)
            virtual_close(v, v->pollers[i].activator);
    free(v->text);
}

/* --- Scripts --- */

void virtual_at(struct virtual *v, ao_time when, struct activator *on, void (*run)(void *arg),
                void *arg)
{
    assert_true(v->scripted < VIRTUAL_SCRIPTS);
    int i = v->scripted++;
    for (; i > 0 && v->scripts[i - 1].when > when; i--)
        v->scripts[i] = v->scripts[i - 1];
    v->scripts[i] = (struct virtual_script){when, on, run, arg};
}

/* A script may add scripts: look from the beginning after each.  True when one ran. */
static bool run_scripts(struct virtual *v, const struct activator *on)
{
    bool ran = false;
    for (int i = 0; i < v->scripted && v->scripts[i].when <= v->now;) {
        struct virtual_script script = v->scripts[i];
        if (script.on != on) {
            i++;
            continue;
        }
        v->scripted--;
        memmove(&v->scripts[i], &v->scripts[i + 1],
                (size_t)(v->scripted - i) * sizeof v->scripts[0]);
        script.run(script.arg);
        ran = true;
        i = 0;
    }
    return ran;
}

/* --- Pollers --- */

static void poller_poll(struct poller *self, ao_time timeout)
{
    struct virtual_poller *p = ao_of(self, struct virtual_poller, table);
    p->polled = timeout > 0;
    p->until = clock_after(p->world->now, timeout);
    p->woken = false; /* before: who wakes it meanwhile is not forgotten */
    if (run_scripts(p->world, p->activator))
        p->woken = true;
}

static void poller_wake(struct poller *self)
{
    ao_of(self, struct virtual_poller, table)->woken = true;
}

struct activator *virtual_open_with(struct virtual *v, struct activator_options options)
{
    assert_true(v->count < VIRTUAL_ACTIVATORS);
    struct virtual_poller *poller = &v->pollers[v->count++];
    *poller = (struct virtual_poller){.table = {poller_poll, poller_wake}, .world = v};
    options.clock = &v->clock;
    options.trace = &v->trace;
    options.poller = &poller->table;
    options.core = -1;
    struct activator *a = activator_open(&options);
    assert_non_null(a);
    poller->activator = a;
    return a;
}

struct activator *virtual_open(struct virtual *v, const char *name)
{
    return virtual_open_with(v, (struct activator_options){.name = name});
}

void virtual_close(struct virtual *v, struct activator *a)
{
    for (int i = 0; i < v->count; i++)
        if (v->pollers[i].activator == a)
            v->pollers[i].activator = NULL;
    activator_close(a);
}

/* --- The run --- */

/* The round of a later activator may have published, unseen, what is for an earlier one. */
enum { QUIET_PASSES = 2 };

/* Grows with what the activators do and one can see. */
static uint64_t activity(const struct virtual *v)
{
    uint64_t sum = v->length;
    for (int i = 0; i < v->count; i++) {
        struct activator_stats stats = {0};
        if (v->pollers[i].activator)
            activator_stats(v->pollers[i].activator, &stats);
        sum += stats.steps;
    }
    return sum;
}

/* One round of each; true when one of them has, or may have, more to do at this moment: what a
 * later one did may be for an earlier one. */
static bool pass(struct virtual *v)
{
    uint64_t before = activity(v);
    bool more = run_scripts(v, NULL);
    for (int i = 0; i < v->count; i++) {
        struct virtual_poller *p = &v->pollers[i];
        p->polled = false;
        if (p->activator)
            more |= activator_round(p->activator, true) || !p->polled;
    }
    for (int i = 0; i < v->count; i++)
        more |= v->pollers[i].activator && v->pollers[i].woken;
    return more || activity(v) != before;
}

static ao_time next_moment(const struct virtual *v)
{
    ao_time next = v->scripted ? v->scripts[0].when : AO_NEVER;
    for (int i = 0; i < v->count; i++)
        if (v->pollers[i].activator && v->pollers[i].until < next)
            next = v->pollers[i].until;
    return next;
}

void virtual_run_until(struct virtual *v, ao_time until)
{
    int quiet = 0;
    for (int passes = 0; passes < VIRTUAL_PASSES; passes++) {
        quiet = pass(v) ? 0 : quiet + 1;
        if (quiet < QUIET_PASSES)
            continue;
        quiet = 0;
        ao_time next = next_moment(v);
        if (next == AO_NEVER || next > until) {
            if (until != AO_NEVER)
                v->now = until;
            return;
        }
        if (next > v->now)
            v->now = next;
    }
    fail_msg("no end after %d passes; the trace ends with:\n%s", VIRTUAL_PASSES,
             v->text + (v->length > 1000 ? v->length - 1000 : 0));
}

void virtual_run(struct virtual *v)
{
    virtual_run_until(v, AO_NEVER);
}

bool virtual_round(struct virtual *v, struct activator *a)
{
    return activator_round(a, false);
}

/* --- The trace --- */

void trace_forget(struct virtual *v)
{
    v->length = 0;
    v->text[0] = '\0';
}

void trace_expect_at(struct virtual *v, const char *expected, const char *file, int line)
{
    if (strcmp(v->text, expected) != 0) {
        print_error("%s:%d: the trace differs\n--- expected\n%s--- traced\n%s---\n", file, line,
                    expected, v->text);
        _fail(file, line);
    }
    trace_forget(v);
}

void virtual_say(struct virtual *v, const char *who, unsigned long id, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    trace_write(&v->trace, v->now, who, id, "%s", text);
}

static void write_nothing(void *arg, enum log_level level, const char *event,
                          const struct log_field *fields)
{
}

void virtual_silence(void)
{
    log_set_sink(&(struct log_sink){.threshold = LOG_ERROR, .write = write_nothing});
}
