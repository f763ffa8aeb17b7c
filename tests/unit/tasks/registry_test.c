/* Methods by name; what is refused, and what people are told. */
#include <stdio.h>

#include "server/tasks/registry.h"
#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static enum ao_verdict no_step(struct ao *self, struct ergon_task *task, void *state)
{
    return AO_DONE;
}

static void no_run(struct ergon_task *task)
{
}

static struct ergon_handler stepped(const char *name)
{
    return (struct ergon_handler){
        .size = sizeof(struct ergon_handler), .kind = ERGON_STEPPED, .name = name, .step = no_step};
}

TEST(found_by_name_and_index)
{
    static char names[500][16];
    static struct ergon_handler handlers[500];
    char error[200];
    struct registry *r = registry_new();
    assert_null(registry_find(r, span_text("m0")));
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(names[i], sizeof names[i], "m%u", i);
        handlers[i] = stepped(names[i]);
        assert_int_equal(registry_add(r, "test", &handlers[i], error, sizeof error), 0);
    }
    assert_int_equal(registry_count(r), 500);
    for (uint32_t i = 0; i < 500; i++) {
        struct method *m = registry_find(r, span_text(names[i]));
        assert_ptr_equal(m, registry_at(r, i));
        assert_int_equal(m->index, i);
        assert_ptr_equal(m->handler, &handlers[i]);
        assert_string_equal(m->module, "test");
    }
    assert_null(registry_find(r, span_text("m500")));
    assert_null(registry_find(r, span_text("")));
    assert_null(registry_at(r, 500));
    registry_free(r);
}

static void refused(struct registry *r, struct ergon_handler h, const char *because)
{
    char error[300] = "";
    assert_int_equal(registry_add(r, "test", &h, error, sizeof error), -1);
    if (!strstr(error, because))
        fail_msg("\"%s\" does not say \"%s\"", error, because);
}

TEST(what_is_refused)
{
    static const char *const bad[] = {"", "a b", "A", "naïve", "a/b"};
    struct registry *r = registry_new();
    char error[200], name[66];
    struct ergon_handler good = stepped("good"), h;
    memset(name, 'x', 65);
    name[65] = '\0';
    assert_int_equal(registry_add(r, "first", &good, error, sizeof error), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(r, stepped(bad[i]), "bad name");
    refused(r, stepped(name), "bad name");
    refused(r, stepped(NULL), "bad name");
    refused(r, stepped("server.mine"), "the server's own");
    refused(r, stepped("good"), "module \"first\" has one");
    h = stepped("h");
    h.run = no_run;
    refused(r, h, "exactly one of step and run");
    h.kind = ERGON_BLOCKING;
    refused(r, h, "exactly one of step and run");
    h = stepped("h");
    h.step = NULL;
    refused(r, h, "exactly one of step and run");
    h = stepped("h");
    h.state_size = 65537;
    refused(r, h, "64 KiB");
    h = stepped("h");
    h.size = 8;
    refused(r, h, "older");
    h = stepped("h");
    h.kind = (enum ergon_kind)3;
    h.step = NULL;
    h.run = no_run;
    refused(r, h, "neither");
    assert_int_equal(registry_count(r), 1);
    registry_free(r);
}

TEST(reserved_prefixes)
{
    assert_true(registry_reserved(span_text("server.")));
    assert_true(registry_reserved(span_text("task.call")));
    assert_true(registry_reserved(span_text("actor.x")));
    assert_false(registry_reserved(span_text("server")));
    assert_false(registry_reserved(span_text("tasks.mine")));
}

static int add_two(void *arg)
{
    char error[200];
    struct ergon_handler *h = arg;
    struct registry *r = registry_new();
    int result = -1;
    if (r && registry_add(r, "test", &h[0], error, sizeof error) == 0 &&
        registry_add(r, "test", &h[1], error, sizeof error) == 0)
        result = 0;
    registry_free(r);
    return result;
}

/* The table of names grows with the 33rd: without memory all is as before. */
TEST(memory_fails_for_one_more)
{
    enum { FIT = 32 };
    char names[FIT + 1][8], error[200];
    struct ergon_handler h[FIT + 1];
    struct registry *r = registry_new();
    for (int i = 0; i <= FIT; i++) {
        snprintf(names[i], sizeof names[i], "h%d", i);
        h[i] = stepped(names[i]);
    }
    for (int i = 0; i < FIT; i++)
        assert_int_equal(registry_add(r, "test", &h[i], error, sizeof error), 0);
    static const int64_t fails[] = {1, 2, 2,
                                    1}; /* the list, the names, the method, and that again */
    for (size_t n = 0; n < sizeof fails / sizeof *fails; n++) {
        heap_fail_at(fails[n]);
        assert_int_equal(registry_add(r, "test", &h[FIT], error, sizeof error), -1);
        assert_true(heap_failed());
        assert_non_null(strstr(error, "memory"));
        assert_int_equal(registry_count(r), FIT);
        for (int i = 0; i <= FIT; i++)
            assert_true((registry_find(r, span_text(names[i])) != NULL) == (i < FIT));
    }
    assert_int_equal(registry_add(r, "test", &h[FIT], error, sizeof error), 0);
    for (int i = 0; i <= FIT; i++)
        assert_non_null(registry_find(r, span_text(names[i])));
    registry_free(r);
}

TEST(memory_fails)
{
    struct ergon_handler h[] = {stepped("a"), stepped("b")};
    heap_fail_each(add_two, h);
}
