#include "base/recorder_dump.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { FILE_MOST = 4096, STORY_MOST = 4096 };

static uint8_t file[FILE_MOST];
static char story[STORY_MOST];

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    size_t len = strlen(story);
    va_list list;
    va_start(list, format);
    vsnprintf(story + len, sizeof story - len, format, list);
    va_end(list);
}

static void on_start(void *arg, uint64_t wall, uint64_t monotonic, uint64_t pid, struct span why)
{
    (void)arg;
    tell("start %lu %lu %lu %.*s\n", (unsigned long)wall, (unsigned long)monotonic,
         (unsigned long)pid, (int)why.len, (const char *)why.at);
}

static void on_named(void *arg, enum dump_section what, uint32_t index, struct span name)
{
    (void)arg;
    tell("%s %u %.*s\n", what == DUMP_METHOD ? "method" : "ring", index, (int)name.len,
         (const char *)name.at);
}

static void on_event(void *arg, const struct recorder_event *e)
{
    (void)arg;
    if (recorder_of_handler(e->kind))
        tell("%u: at %lu %s task %lu of %u\n", e->ring, (unsigned long)e->time,
             recorder_kind_name(e->kind), (unsigned long)e->number, e->method);
    else if (e->kind != RECORDER_NONE)
        tell("%u: at %lu %s %lu\n", e->ring, (unsigned long)e->time, recorder_kind_name(e->kind),
             (unsigned long)e->value);
    else
        tell("%u: at %lu task %lu of %u: error %u, run %d %lu, wait %d %lu\n", e->ring,
             (unsigned long)e->time, (unsigned long)e->number, e->method, e->error, e->has_run,
             (unsigned long)e->run, e->has_wait, (unsigned long)e->wait);
}

static void on_lost(void *arg, uint32_t ring, uint64_t words)
{
    (void)arg;
    tell("%u: %lu lost\n", ring, (unsigned long)words);
}

static enum dump_verdict read_story(size_t len)
{
    const struct dump_reader reader = {
        .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};
    story[0] = '\0';
    return dump_read(span_of(file, len), &reader);
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
    return (uint8_t *)memcpy(at, text, strlen(text)) + strlen(text);
}

static uint8_t *put_ring(uint8_t *at, const struct recorder *r, uint64_t from, uint64_t until)
{
    uint64_t words[64];
    uint32_t count = recorder_copy(r, &from, until, words, 64);
    return dump_words(at, 0, from, words, count);
}

/* Returns its length. */
static size_t make_file(void)
{
    struct recorder *r = recorder_new();
    recorder_clock(r, 1000);
    recorder_note(r, RECORDER_OPENED, 5);
    recorder_task(r, recorder_method(2), 11);
    recorder_clock(r, 2000);
    recorder_note(r, RECORDER_FAILED, 9);
    recorder_span(r, RECORDER_RUN, 12, 40);
    recorder_span(r, RECORDER_WAIT, 12, 60);
    recorder_task(r, recorder_method(0), 12);
    recorder_task(r, recorder_method(2), 13);
    uint8_t *at = dump_start(file, 77, 3000, 42, 3);
    at = put_text(at, "why");
    at = put_text(dump_named(at, DUMP_METHOD, 2, 4), "echo");
    at = put_text(dump_named(at, DUMP_RING, 0, 6), "loop 0");
    at = put_ring(at, r, 0, 5);
    at = put_ring(at, r, 5, UINT64_MAX);
    at = dump_end(at);
    recorder_free(r);
    return (size_t)(at - file);
}

TEST(a_file_tells_what_was_recorded)
{
    assert_int_equal(read_story(make_file()), DUMP_WHOLE);
    assert_string_equal(story, "start 77 3000 42 why\n"
                               "method 2 echo\n"
                               "ring 0 loop 0\n"
                               "0: at 1000 conn_opened 5\n"
                               "0: at 1000 task 11 of 2: error 0, run 0 0, wait 0 0\n"
                               "0: at 2000 task 12 of 0: error 9, run 1 40, wait 1 60\n"
                               "0: at 2000 task 13 of 2: error 0, run 0 0, wait 0 0\n");
}

TEST(a_handler_is_told_with_its_method_and_task)
{
    const uint64_t largest = (UINT64_C(1) << RECORDER_SHORT_BITS) - 1;
    struct recorder *r = recorder_new();
    recorder_clock(r, 1000);
    recorder_handler(r, RECORDER_BEGAN, recorder_method(7), 1000000002);
    recorder_clock(r, 2000);
    recorder_handler(r, RECORDER_ENDED, recorder_method(RECORDER_METHODS), largest + 3);
    uint8_t *at = dump_end(put_ring(dump_start(file, 0, 0, 0, 0), r, 0, UINT64_MAX));
    recorder_free(r);
    assert_int_equal(read_story((size_t)(at - file)), DUMP_WHOLE);
    assert_string_equal(story, "start 0 0 0 \n0: at 1000 began task 1000000002 of 7\n"
                               "0: at 2000 ended task 2 of 32767\n");
}

/* Between two parts the writer was faster: what stood before tells nothing of what follows. */
TEST(what_was_overwritten_is_told_and_nothing_is_mixed)
{
    const uint64_t first[] = {(uint64_t)RECORDER_CLOCK << RECORDER_VALUE_BITS | 10,
                              (uint64_t)RECORDER_FAILED << RECORDER_VALUE_BITS | 9},
                   second[] = {recorder_method(0) + 1};
    uint8_t *at = dump_start(file, 0, 0, 0, 0);
    at = dump_words(at, 3, 0, first, 2);
    at = dump_words(at, 3, 100, second, 1);
    at = dump_end(at);
    assert_int_equal(read_story((size_t)(at - file)), DUMP_WHOLE);
    assert_string_equal(story, "start 0 0 0 \n3: 98 lost\n"
                               "3: at 0 task 1 of 0: error 0, run 0 0, wait 0 0\n");
}

TEST(a_file_that_ends_anywhere_is_told_as_far_as_it_goes)
{
    size_t len = make_file();
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy =
            malloc(cut > 0 ? cut : 1); /* so that a sanitizer sees who reads behind it */
        const struct dump_reader reader = {
            .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};
        memcpy(copy, file, cut);
        story[0] = '\0';
        assert_int_equal(dump_read(span_of(copy, cut), &reader),
                         cut < DUMP_MAGIC ? DUMP_FOREIGN : DUMP_CUT);
        free(copy);
    }
}

/* The head of each section says that it is a byte shorter than what it has to begin with. */
TEST(a_section_that_is_too_short_is_not_read_on)
{
    static const struct {
        enum dump_section what;
        uint32_t least;
    } sections[] = {{DUMP_START, DUMP_START_HEAD},
                    {DUMP_METHOD, 4},
                    {DUMP_RING, 4},
                    {DUMP_WORDS, DUMP_WORDS_HEAD}};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        size_t len = DUMP_MAGIC + DUMP_HEAD + sections[i].least - 1;
        memset(file, 0, len);
        memcpy(file, dump_magic, DUMP_MAGIC);
        file[DUMP_MAGIC] = (uint8_t)sections[i].what;
        file[DUMP_MAGIC + 4] = (uint8_t)(sections[i].least - 1);
        dump_end(file + len);
        assert_int_equal(read_story(len + DUMP_HEAD), DUMP_CUT);
        assert_string_equal(story, "");
    }
}

TEST(rubbish_is_survived)
{
    static uint8_t whole[FILE_MOST];
    uint64_t seed = 7;
    size_t len = make_file();
    memcpy(whole, file, len);
    for (int round = 0; round < 20000; round++) {
        memcpy(file, whole, len);
        for (int n = 0; n < 8; n++)
            file[DUMP_MAGIC + chance(&seed, len - DUMP_MAGIC)] = (uint8_t)chance(&seed, 256);
        uint8_t *copy = malloc(len);
        const struct dump_reader reader = {
            .start = on_start, .named = on_named, .event = on_event, .lost = on_lost};
        memcpy(copy, file, len);
        story[0] = '\0';
        assert_int_not_equal(dump_read(span_of(copy, len), &reader), DUMP_FOREIGN);
        free(copy);
    }
    assert_string_equal(recorder_kind_name((enum recorder_kind)99), "?");
}
