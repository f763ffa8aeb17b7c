/* The files that are left: what stands in them, and which are kept. */
#include "server/system/crash.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

#include "base/recorder_dump.h"
#include "server/tasks/registry.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/scratch.h"
#include "tests/support/virtual.h"

static char story[4096];
static size_t story_len;

static void tell(const char *what, struct span text)
{
    story_len += (size_t)snprintf(story + story_len, sizeof story - story_len, "%s %.*s\n", what,
                                  (int)text.len, (const char *)text.at);
}

static void on_start(void *arg, uint64_t wall, uint64_t monotonic, uint64_t pid, struct span why)
{
    (void)arg, (void)wall, (void)monotonic;
    assert_int_equal(pid, getpid());
    tell("start", why);
}

static void on_named(void *arg, enum dump_section what, uint32_t index, struct span name)
{
    (void)arg, (void)index;
    tell(what == DUMP_RING ? "ring" : "method", name);
}

static uint64_t tasks;

static void on_event(void *arg, const struct recorder_event *e)
{
    (void)arg;
    assert_int_equal(e->kind, RECORDER_NONE);
    tasks++;
}

static void on_lost(void *arg, uint32_t ring, uint64_t words)
{
    (void)arg, (void)ring, (void)words;
    fail();
}

static enum dump_verdict read_file(const char *path)
{
    static uint8_t bytes[2 << 20];
    const struct dump_reader reader = {
        .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    story_len = 0;
    tasks = 0;
    return dump_read(span_of(bytes, len), &reader);
}

struct world {
    struct recorder_ring ring[2];
    struct recorder_rings rings;
    struct registry *registry;
};

static void open_world(struct world *w, uint32_t kept)
{
    virtual_silence();
    w->ring[0] = (struct recorder_ring){.recorder = recorder_new(), .name = "loop 0"};
    w->ring[1] = (struct recorder_ring){.recorder = recorder_new(), .name = "blocking 1"};
    w->rings = (struct recorder_rings){w->ring, 2};
    w->registry = registry_new();
    assert_true(w->ring[0].recorder && w->ring[1].recorder && w->registry);
    const struct recorder_files_options o = {
        .folder = scratch.directory, .kept = kept, .rings = &w->rings, .registry = w->registry};
    assert_int_equal(recorder_files_open(&o), 0);
}

static void close_world(struct world *w)
{
    recorder_files_close();
    for (int i = 0; i < 2; i++)
        recorder_free((struct recorder *)(uintptr_t)w->ring[i].recorder);
    registry_free(w->registry);
}

static size_t count_files(const char *pattern)
{
    char whole[200];
    glob_t found = {0};
    snprintf(whole, sizeof whole, "%s/%s", scratch.directory, pattern);
    glob(whole, 0, NULL, &found);
    size_t count = found.gl_pathc;
    globfree(&found);
    return count;
}

/* More than one piece holds, and a ring without a word is not named. */
SCRATCH_TEST(a_crash_leaves_all_that_the_rings_hold)
{
    struct world w;
    char path[RECORDER_FILE_PATH];
    open_world(&w, 8);
    for (uint64_t i = 0; i < 10000; i++)
        recorder_task((struct recorder *)(uintptr_t)w.ring[0].recorder, recorder_method(0), i);
    assert_true(recorder_files_crash("SIGSEGV in echo", path));
    assert_int_equal(read_file(path), DUMP_WHOLE);
    assert_string_equal(story, "start SIGSEGV in echo\nring loop 0\n");
    assert_int_equal(tasks, 10000);
    close_world(&w);
}

SCRATCH_TEST(a_file_of_the_same_second_is_not_overwritten)
{
    struct world w;
    char path[RECORDER_FILE_PATH], again[RECORDER_FILE_PATH];
    open_world(&w, 8);
    assert_true(recorder_files_crash("the first", path));
    if (recorder_files_crash("the second", again)) /* the next second has begun */
        assert_string_not_equal(path, again);
    assert_int_equal(read_file(path), DUMP_WHOLE);
    assert_string_equal(story, "start the first\n");
    close_world(&w);
}

SCRATCH_TEST(the_newest_of_each_kind_are_kept_and_nothing_else_is_touched)
{
    struct world w;
    static const char *const names[] = {"ergond-5-1-crash.rec",   "ergond-70-1-crash.rec",
                                        "ergond-600-1-crash.rec", "ergond-8-1-stuck.rec",
                                        "ergond-9-1-stuck.rec",   "ergond-10-1-stuck.rec",
                                        "ergond-1-1-other.rec",   "tasks.db"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        scratch_write(names[i], "");
    open_world(&w, 2);
    assert_int_equal(count_files("ergond-5-*"), 0);
    assert_int_equal(count_files("*-crash.rec"), 2);
    assert_int_equal(count_files("ergond-8-*"), 0);
    assert_int_equal(count_files("*-stuck.rec"), 2);
    assert_int_equal(count_files("*"), 6);
    recorder_files_stuck("loop 0");
    recorder_files_stuck("it comes again at once");
    close_world(&w); /* waits for the file */
    assert_int_equal(count_files("ergond-9-*"), 0);
    assert_int_equal(count_files("*-stuck.rec"), 2);
    assert_int_equal(count_files("*"), 6);
}

SCRATCH_TEST(until_it_is_open_nothing_is_written)
{
    char path[RECORDER_FILE_PATH];
    const struct recorder_files_options o = {.folder = "/nonexistent", .kept = 1};
    assert_int_equal(recorder_files_open(&o), -1);
    assert_false(recorder_files_crash("why", path));
    recorder_files_stuck("why");
    recorder_files_close();
    assert_int_equal(count_files("*"), 0);
}
