/* Jobs by name, while the table grows. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/keys.h"
#include "tests/support/cmocka_env.h"

enum { MANY = 5000 };

static const uint64_t seed[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

TEST(every_name_is_found_while_the_table_grows)
{
    static struct job jobs[MANY];
    static struct key_link links[MANY];
    static char names[MANY][16];
    struct span tenant = span_text("acme"), none = {0};
    struct key_table t;
    key_table_init(&t, seed);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "key %d", i);
        struct span name = span_text(names[i]);
        links[i] = (struct key_link){.job = &jobs[i], .tenant = tenant, .name = name};
        assert_null(key_find(&t, tenant, none, name, NULL));
        key_add(&t, &links[i]);
        assert_ptr_equal(key_find(&t, tenant, none, span_text(names[i / 2]), NULL), &jobs[i / 2]);
    }
    assert_int_equal(t.names.count, MANY);
    for (int i = 0; i < MANY; i += 2)
        key_remove(&t, &links[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(key_find(&t, tenant, none, span_text(names[i]), NULL),
                         i % 2 ? &jobs[i] : NULL);
    key_table_fini(&t);
}

TEST(names_count_within_tenant_and_scope)
{
    struct job a = {0}, b = {0};
    struct key_table t;
    key_table_init(&t, seed);
    struct key_link of_a = {
        .job = &a, .tenant = span_text("ab"), .scope = span_text("method"), .name = span_text("c")};
    struct key_link of_b = {
        .job = &b, .tenant = span_text("a"), .scope = span_text("method"), .name = span_text("bc")};
    key_add(&t, &of_a);
    key_add(&t, &of_b);
    assert_ptr_equal(key_find(&t, of_a.tenant, of_a.scope, of_a.name, NULL), &a);
    assert_ptr_equal(key_find(&t, of_b.tenant, of_b.scope, of_b.name, NULL), &b);
    assert_null(key_find(&t, of_a.tenant, of_a.scope, of_b.name, NULL));
    assert_null(key_find(&t, of_a.tenant, span_text("other"), of_a.name, NULL));
    assert_null(key_find(&t, of_a.tenant, (struct span){0}, of_a.name, NULL));
    key_table_fini(&t);
}

TEST(those_of_messages_count_within_their_actor)
{
    static const char actors[2];
    struct job a = {0}, b = {0}, plain = {0};
    struct span tenant = span_text("t"), none = {0}, name = span_text("k");
    struct key_link links[] = {{.job = &a, .tenant = tenant, .name = name, .of = &actors[0]},
                               {.job = &b, .tenant = tenant, .name = name, .of = &actors[1]},
                               {.job = &plain, .tenant = tenant, .name = name}};
    struct key_table t;
    key_table_init(&t, seed);
    for (int i = 0; i < 3; i++) {
        assert_null(key_find(&t, tenant, none, name, links[i].of));
        key_add(&t, &links[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(key_find(&t, tenant, none, name, links[i].of), links[i].job);
    key_table_fini(&t);
}

TEST(one_that_is_not_inside_may_be_removed)
{
    struct job e = {0};
    struct key_link in = {.job = &e, .name = span_text("in")}, out = {0};
    struct key_table t;
    key_table_init(&t, seed);
    key_add(&t, &in);
    key_remove(&t, &out);
    assert_int_equal(t.names.count, 1);
    key_remove(&t, &in);
    key_remove(&t, &in);
    assert_int_equal(t.names.count, 0);
    key_table_fini(&t);
}
