/* Entries by name and by id, while the tables grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "server/jobs/core/keys.h"
#include "base/siphash.h"
#include "server/jobs/core/slots.h"

enum { MANY = 5000 };

static const uint64_t seed[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

/* Of the bytes 0, 1, 2, ...: the first with the seed of the authors' own tests, the others with
 * none, as CPython hashes bytes when PYTHONHASHSEED is 0. */
static void hashes_as_others_do(void **state)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } seeded[] = {{0, 0xabac0158050fc4dc}, {1, 0xc9f49bf37d57ca93}, {4, 0xcf75576088d38328}},
      plain[] = {{1, 0x68a914128e01e473}, {7, 0x2f098ab0c751325a},  {8, 0xead411e67ebe2eea},
                 {9, 0x75927f9d95124362}, {15, 0xf30eb725bb91c9ea}, {16, 0x8972188433a5c5b7},
                 {63, 0x385d3e39e5f37359}};
    static const uint64_t none[2];
    uint8_t bytes[64];
    (void)state;
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof seeded / sizeof *seeded; i++)
        assert_int_equal(siphash(seed, span_of(bytes, seeded[i].len)), seeded[i].hash);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_int_equal(siphash(none, span_of(bytes, plain[i].len)), plain[i].hash);
}

static void a_bucket_more_moves_only_its_half(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(hashes_as_others_do),
                                       cmocka_unit_test(a_bucket_more_moves_only_its_half),
                                       cmocka_unit_test(every_name_is_found_while_the_table_grows),
                                       cmocka_unit_test(names_count_within_tenant_and_scope),
                                       cmocka_unit_test(one_that_is_not_inside_may_be_removed),
                                       cmocka_unit_test(every_id_is_found_while_the_table_grows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
