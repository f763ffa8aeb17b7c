/* Entries by name and by id, while the tables grow. */
#include <stdio.h>
#include <stdlib.h>

#include "server/jobs/core/keys.h"
#include "server/jobs/core/slots.h"
#include "tests/support/cmocka_env.h"

enum { MANY = 5000 };

static const uint64_t seed[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

static void a_bucket_more_moves_only_its_half(void **state)
{
    for (uint32_t size = SLOTS_FIRST; size < 200; size++)
        for (uint64_t hash = 0; hash < 1000; hash++) {
            uint32_t before = slots_at(hash, size), after = slots_at(hash, size + 1);
            assert_true(before < size);
            assert_true(after == before || (after == size && before == slots_split(size)));
        }
}

static void every_name_is_found_while_the_table_grows(void **state)
{
    static struct job entries[MANY];
    static struct key_link links[MANY];
    static char names[MANY][16];
    struct span tenant = span_text("acme"), none = {0};
    struct key_table t;
    assert_int_equal(key_table_init(&t, seed), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "key %d", i);
        struct span name = span_text(names[i]);
        links[i] = (struct key_link){.entry = &entries[i], .tenant = tenant, .name = name};
        assert_null(key_find(&t, tenant, none, name));
        key_add(&t, &links[i]);
        assert_ptr_equal(key_find(&t, tenant, none, span_text(names[i / 2])), &entries[i / 2]);
    }
    assert_int_equal(t.count, MANY);
    for (int i = 0; i < MANY; i += 2)
        key_remove(&t, &links[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(key_find(&t, tenant, none, span_text(names[i])),
                         i % 2 ? &entries[i] : NULL);
    key_table_fini(&t);
}

static void names_count_within_tenant_and_scope(void **state)
{
    struct job a = {0}, b = {0};
    struct key_table t;
    assert_int_equal(key_table_init(&t, seed), 0);
    struct key_link of_a = {.entry = &a,
                            .tenant = span_text("ab"),
                            .scope = span_text("method"),
                            .name = span_text("c")};
    struct key_link of_b = {.entry = &b,
                            .tenant = span_text("a"),
                            .scope = span_text("method"),
                            .name = span_text("bc")};
    key_add(&t, &of_a);
    key_add(&t, &of_b);
    assert_ptr_equal(key_find(&t, of_a.tenant, of_a.scope, of_a.name), &a);
    assert_ptr_equal(key_find(&t, of_b.tenant, of_b.scope, of_b.name), &b);
    assert_null(key_find(&t, of_a.tenant, of_a.scope, of_b.name));
    assert_null(key_find(&t, of_a.tenant, span_text("other"), of_a.name));
    assert_null(key_find(&t, of_a.tenant, (struct span){0}, of_a.name));
    key_table_fini(&t);
}

static void one_that_is_not_inside_may_be_removed(void **state)
{
    struct job e = {0};
    struct key_link in = {.entry = &e, .name = span_text("in")}, out = {0};
    struct key_table t;
    assert_int_equal(key_table_init(&t, seed), 0);
    key_add(&t, &in);
    key_remove(&t, &out);
    assert_int_equal(t.count, 1);
    key_remove(&t, &in);
    key_remove(&t, &in);
    assert_int_equal(t.count, 0);
    key_table_fini(&t);
}

static void every_id_is_found_while_the_table_grows(void **state)
{
    static struct job entries[MANY];
    const uint64_t first = UINT64_C(777) << 40;
    struct id_table t;
    assert_int_equal(id_table_init(&t), 0);
    for (uint64_t i = 0; i < MANY; i++) {
        entries[i].id = first + i * 3;
        assert_null(id_find(&t, entries[i].id));
        id_add(&t, &entries[i]);
    }
    for (uint64_t i = 0; i < MANY; i += 2)
        id_remove(&t, &entries[i]);
    id_remove(&t, &entries[0]);
    assert_int_equal(t.count, MANY / 2);
    for (uint64_t i = 0; i < MANY; i++)
        assert_ptr_equal(id_find(&t, first + i * 3), i % 2 ? &entries[i] : NULL);
    id_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bucket_more_moves_only_its_half),
                                       cmocka_unit_test(every_name_is_found_while_the_table_grows),
                                       cmocka_unit_test(names_count_within_tenant_and_scope),
                                       cmocka_unit_test(one_that_is_not_inside_may_be_removed),
                                       cmocka_unit_test(every_id_is_found_while_the_table_grows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
