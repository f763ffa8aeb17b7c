/* Rows in a chunk: what was put in comes out, in that order, however it is read. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/store/chunk.h"
#include "tests/support/cmocka_env.h"

enum { TEXT = 2000, LARGE = 300 * 1024 };

struct taken {
    char text[TEXT];
    uint64_t bytes;
    const char *fault; /* of the task 9 */
};

static void __attribute__((format(printf, 2, 3))) say(struct taken *t, const char *format, ...)
{
    size_t len = strlen(t->text);
    va_list args;
    va_start(args, format);
    vsnprintf(t->text + len, sizeof t->text - len, format, args);
    va_end(args);
}

static void on_marks(void *arg, const struct store_marks *marks)
{
    say(arg, "marks %d ", (int)marks->last_id);
}

static void on_counts(void *arg, const struct store_counts *counts)
{
    say(arg, "counts %d ", (int)counts->submitted);
}

static bool on_row(void *arg, const struct store_table *table, const void *row)
{
    const struct store_queue *queue = row;
    assert_ptr_equal(table, &store_queues);
    say(arg, "queue %.*s ", (int)queue->method.len, (const char *)queue->method.at);
    return true;
}

static bool on_task(void *arg, const struct store_task *task)
{
    struct taken *t = arg;
    say(t, "task %d %.*s %.*s ", (int)task->id, (int)task->method.len,
        (const char *)task->method.at, (int)task->key.len, (const char *)task->key.at);
    t->bytes += task->result.len;
    if (task->id == 9)
        t->fault = "its state is none";
    return task->id != 9;
}

static bool on_event(void *arg, const struct store_event *event)
{
    say(arg, "event %d.%u", (int)event->id, event->seq);
    return true;
}

static struct store_reader reader_of(struct taken *t)
{
    return (struct store_reader){.arg = t,
                                 .marks = on_marks,
                                 .counts = on_counts,
                                 .row = on_row,
                                 .task = on_task,
                                 .event = on_event,
                                 .fault = &t->fault};
}

/* The bytes that rows point at end with this function: the chunk has copies. */
static void fill(struct store_chunk *c)
{
    static uint8_t large[LARGE];
    char method[] = "resize", key[] = "k1", queue[] = "mail";
    const struct store_marks marks = {.last_id = 5};
    const struct store_counts counts = {.submitted = 2};
    const struct store_queue row = {.method = span_text(queue), .paused = 1};
    const struct store_task task = {.id = 7,
                                    .method = span_text(method),
                                    .has_options = true,
                                    .key = span_text(key),
                                    .result = span_of(large, sizeof large)};
    const struct store_event event = {.id = 7, .seq = 2};
    assert_true(store_chunk_marks(c, &marks) && store_chunk_counts(c, &counts) &&
                store_chunk_row(c, &store_queues, &row) && store_chunk_task(c, &task) &&
                store_chunk_event(c, &event));
    memset(method, 'x', sizeof method);
    memset(key, 'x', sizeof key);
    memset(queue, 'x', sizeof queue);
}

static const char all[] = "marks 5 counts 2 queue mail task 7 resize k1 event 7.2";

TEST(what_was_put_in_comes_out)
{
    char error[TEXT] = "";
    struct taken t = {0};
    const struct store_reader reader = reader_of(&t);
    struct store_chunk *c = store_chunk_new();
    fill(c);
    assert_int_equal(store_chunk_rows(c), 5);
    assert_int_equal(store_chunk_read(c, &reader, 100, error, sizeof error), 0);
    assert_string_equal(t.text, all);
    assert_int_equal(t.bytes, LARGE);
    store_chunk_free(c);
}

TEST(a_chunk_is_read_in_pieces)
{
    char error[TEXT] = "";
    struct taken t = {0};
    const struct store_reader reader = reader_of(&t);
    struct store_chunk *c = store_chunk_new();
    fill(c);
    for (int n = 0; n < 4; n++)
        assert_int_equal(store_chunk_read(c, &reader, 1, error, sizeof error), 1);
    assert_int_equal(store_chunk_read(c, &reader, 1, error, sizeof error), 0);
    assert_int_equal(store_chunk_read(c, &reader, 1, error, sizeof error), 0);
    assert_string_equal(t.text, all);
    store_chunk_free(c);
}

TEST(a_chunk_that_is_cleared_takes_other_rows)
{
    char error[TEXT] = "";
    struct taken t = {0};
    const struct store_reader reader = reader_of(&t);
    struct store_chunk *c = store_chunk_new();
    for (int n = 0; n < 3; n++) {
        t = (struct taken){0};
        fill(c);
        assert_int_equal(store_chunk_read(c, &reader, n == 0 ? 2 : 100, error, sizeof error),
                         n == 0);
        store_chunk_clear(c);
        assert_int_equal(store_chunk_rows(c), 0);
        assert_int_equal(store_chunk_read(c, &reader, 100, error, sizeof error), 0);
    }
    assert_string_equal(t.text, all);
    store_chunk_free(c);
}

TEST(a_row_that_is_refused_is_named)
{
    char error[TEXT] = "";
    struct taken t = {0};
    const struct store_reader reader = reader_of(&t);
    struct store_chunk *c = store_chunk_new();
    const struct store_task task = {.id = 9};
    assert_true(store_chunk_task(c, &task));
    assert_int_equal(store_chunk_read(c, &reader, 100, error, sizeof error), -1);
    assert_string_equal(error, "it is damaged: task 9: its state is none");
    store_chunk_free(c);
    store_chunk_free(NULL);
}
