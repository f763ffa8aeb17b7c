/* Methods by name; what is refused, and what people are told; names that workers offer, which come
 * while others look names up. */
#include <pthread.h>
#include <stdatomic.h>
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

/* ---- names that workers offer ---- */

static struct method *intern(struct registry *r, const char *name)
{
    struct method *m;
    assert_int_equal(registry_intern(r, span_text(name), &m), ERGON_OK);
    assert_non_null(m);
    return m;
}

TEST(an_offered_name_is_made_once_and_copied)
{
    struct registry *r = registry_new();
    struct ergon_handler local = stepped("local");
    char name[] = "img.resize", error[200];
    assert_int_equal(registry_add(r, "test", &local, error, sizeof error), 0);
    struct method *m = intern(r, name);
    name[0] = 'x';
    assert_string_equal(method_name(m), "img.resize");
    assert_ptr_equal(registry_find(r, span_text("img.resize")), m);
    assert_ptr_equal(intern(r, "img.resize"), m);
    assert_ptr_equal(registry_at(r, 1), m);
    assert_int_equal(m->index, 1);
    assert_true(method_of_workers(m));
    assert_string_equal(method_kind(m), "worker");
    assert_int_equal(registry_count(r), 2);
    /* One of a module stays what it is. */
    assert_ptr_equal(intern(r, "local")->handler, &local);
    assert_false(method_of_workers(intern(r, "local")));
    assert_string_equal(method_kind(intern(r, "local")), "stepped");
    registry_free(r);
}

TEST(a_module_cannot_take_an_offered_name)
{
    struct registry *r = registry_new();
    intern(r, "mine");
    refused(r, stepped("mine"), "module \"workers\" has one");
    registry_free(r);
}

TEST(offered_names_that_are_refused)
{
    static const char *const bad[] = {"", "a b", "A", "a/b", "server.mine", "worker.x"};
    struct registry *r = registry_new();
    struct method *m = (struct method *)r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(registry_intern(r, span_text(bad[i]), &m), ERGON_E_BAD_PARAMS);
        assert_null(m);
    }
    assert_int_equal(registry_count(r), 0);
    registry_free(r);
}

TEST(so_many_names_may_be_offered)
{
    struct registry *r = registry_new();
    struct method *m;
    char name[16];
    for (int i = 0; i < METHODS_OFFERED; i++) {
        snprintf(name, sizeof name, "w%d", i);
        assert_int_equal(intern(r, name)->index, i);
    }
    assert_int_equal(registry_intern(r, span_text("more"), &m), ERGON_E_BUSY);
    assert_null(m);
    assert_ptr_equal(intern(r, "w77"), registry_at(r, 77));
    assert_int_equal(registry_count(r), METHODS_OFFERED);
    registry_free(r);
}

/* As the registry does: who offers names can read it. */
static uint64_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u ^ 8, word;
    memcpy(&word, name, 8);
    h = (h ^ word) * 0x100000001b3u;
    h ^= h >> 29;
    return h ^ h >> 32;
}

/* Names whose places lie beside each other would make everybody who looks for one of them, or for
 * none that is there, go through all. */
TEST(names_chosen_to_stand_in_one_place_are_refused_in_time)
{
    enum { TRIED = 2000000, SPAN = 0x8000, NEAR = 512 };
    struct registry *r = registry_new();
    struct method *m;
    enum ergon_error error = ERGON_OK;
    char name[9];
    for (uint32_t i = 0; i < TRIED && error == ERGON_OK; i++) {
        snprintf(name, sizeof name, "%08x", i);
        if (hash_of(name) % SPAN < NEAR)
            error = registry_intern(r, span_text(name), &m);
    }
    assert_int_equal(error, ERGON_E_BUSY);
    assert_in_range(registry_count(r), 64, 2 * NEAR);
    intern(r, "another-place");
    registry_free(r);
}

static bool count_made(void *arg, struct method *m)
{
    int *left = arg;
    assert_true(method_of_workers(m));
    assert_non_null(m->handler);
    return (*left)-- > 0;
}

TEST(who_is_told_of_a_new_name_may_refuse_it)
{
    struct registry *r = registry_new();
    struct ergon_handler local = stepped("local");
    struct method *m;
    char error[200];
    int left = 1;
    registry_on_intern(r, count_made, &left);
    assert_int_equal(registry_add(r, "test", &local, error, sizeof error), 0);
    intern(r, "first");
    intern(r, "first");
    intern(r, "local");
    assert_int_equal(left, 0);
    assert_int_equal(registry_intern(r, span_text("second"), &m), ERGON_E_MEMORY);
    assert_null(m);
    assert_null(registry_find(r, span_text("second")));
    assert_int_equal(registry_count(r), 2);
    registry_free(r);
}

static int intern_forty(void *arg)
{
    struct registry *r = registry_new();
    struct method *m;
    char name[8];
    int result = r ? 0 : -1;
    (void)arg;
    for (int i = 0; i < 40 && result == 0; i++) {
        snprintf(name, sizeof name, "o%d", i);
        result = registry_intern(r, span_text(name), &m) == ERGON_OK ? 0 : -1;
    }
    registry_free(r);
    return result;
}

TEST(memory_fails_for_an_offered_name)
{
    heap_fail_each(intern_forty, NULL);
}

/* ---- readers beside the writer ---- */

enum { NAMES = 4000, READERS = 3 };

struct look {
    struct registry *r;
    _Atomic int wrong;
    _Atomic int looks;
    _Atomic bool over;
};

/* All by index, and each of these by its name: whoever is there is whole. */
static void look_at_all(struct look *l)
{
    for (uint32_t i = 0, count = registry_count(l->r); i < count; i++) {
        const struct method *m = registry_at(l->r, i);
        if (!m || m->index != i || !method_of_workers(m) || registry_find(l->r, m->name) != m)
            atomic_fetch_add(&l->wrong, 1);
    }
    if (registry_find(l->r, span_text("not-there")))
        atomic_fetch_add(&l->wrong, 1);
    atomic_fetch_add(&l->looks, 1);
}

static void *reader(void *arg)
{
    struct look *l = arg;
    while (!atomic_load(&l->over))
        look_at_all(l);
    look_at_all(l);
    return NULL;
}

TEST(readers_beside_the_writer_find_what_there_is)
{
    struct look l = {.r = registry_new()};
    pthread_t threads[READERS];
    char name[16];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &l), 0);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        intern(l.r, name);
        if (registry_find(l.r, span_text(name)) != registry_at(l.r, (uint32_t)i))
            atomic_fetch_add(&l.wrong, 1);
    }
    atomic_store(&l.over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&l.wrong), 0);
    assert_true(atomic_load(&l.looks) >= READERS);
    registry_free(l.r);
}
