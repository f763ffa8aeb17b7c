/* What `ergon module check` calls methods with, makes smaller, and reads of a log: by value,
 * without a server. */
#include <stdlib.h>

#include "client/cli/module/rubbish.h"
#include "client/cli/module/server_log.h"
#include "client/cli/module/sheet.h"
#include "client/cli/module/shrink.h"
#include "client/cli/module/stock.h"
#include "proto/scanner.h"
#include "tests/support/cmocka_env.h"

enum { BY_CHANCE = 2000 };

static const struct words no_words = {.count = 0};

/* ---- rubbish ---- */

static struct pack packed(const struct rubbish *r, uint64_t number)
{
    struct pack p;
    pack_init(&p);
    rubbish_pack(r, number, &p);
    assert_false(p.failed);
    return p;
}

static bool same(const struct rubbish *a, uint64_t number, const struct rubbish *b, uint64_t other)
{
    struct pack first = packed(a, number), second = packed(b, other);
    bool equal = span_equal(pack_bytes(&first), pack_bytes(&second));
    pack_fini(&first);
    pack_fini(&second);
    return equal;
}

TEST(a_seed_and_a_number_are_the_same_parameters_for_ever)
{
    struct rubbish one = {1, &no_words}, two = {2, &no_words};
    uint64_t fixed = rubbish_fixed(&one);
    uint32_t differ = 0;
    assert_true(fixed > 150);
    for (uint64_t n = 1; n <= fixed + BY_CHANCE; n++) {
        assert_true(same(&one, n, &one, n));
        if (n <= fixed)
            assert_true(same(&one, n, &two, n));
        else
            differ += !same(&one, n, &two, n) && !same(&one, n, &one, n + 1);
    }
    assert_true(differ > BY_CHANCE * 9 / 10);
}

/* Each goes into a message of task.submit, which has three levels of its own and a limit of 32. */
TEST(parameters_are_arrays_that_a_message_may_have)
{
    const struct scan_limits limits = {.message_max = 4 << 20, .depth_max = 32 - 2};
    struct rubbish r = {7, &no_words};
    uint64_t all = rubbish_fixed(&r) + BY_CHANCE;
    uint32_t deepest = 0;
    for (uint64_t n = 1; n <= all; n++) {
        struct pack p = packed(&r, n);
        struct span bytes = pack_bytes(&p);
        struct scanner s;
        scanner_init(&s);
        assert_int_equal(scanner_run(&s, &limits, bytes), SCAN_WHOLE);
        assert_int_equal(s.done, bytes.len);
        assert_true((bytes.at[0] & 0xf0) == 0x90 || bytes.at[0] == 0xdc);
        const struct scan_limits less = {.message_max = 4 << 20, .depth_max = 32 - 3};
        scanner_init(&s);
        deepest += scanner_run(&s, &less, bytes) == SCAN_TOO_DEEP;
        pack_fini(&p);
    }
    assert_int_equal(deepest, 2); /* arrays, and maps */
}

static void note_types(const msgpack_object *o, uint32_t *types)
{
    *types |= 1u << o->type;
    for (uint32_t i = 0; o->type == MSGPACK_OBJECT_ARRAY && i < o->via.array.size; i++)
        *types |= 1u << o->via.array.ptr[i].type;
}

TEST(all_types_all_counts_and_all_words_come_without_chance)
{
    struct words words = {.count = 0};
    words_take(&words, span_text("level zip \1 a.b\2x"));
    struct rubbish r = {1, &words};
    uint32_t types = 0, counts = 0, found = 0;
    size_t longest = 0;
    assert_int_equal(words.count, 3); /* "x" is too short */
    for (uint64_t n = 1; n <= rubbish_fixed(&r); n++) {
        struct pack p = packed(&r, n);
        struct span bytes = pack_bytes(&p);
        msgpack_unpacked v;
        msgpack_unpacked_init(&v);
        assert_int_equal(msgpack_unpack_next(&v, (const char *)bytes.at, bytes.len, NULL),
                         MSGPACK_UNPACK_SUCCESS);
        note_types(&v.data, &types);
        counts |= 1u << v.data.via.array.size;
        found += bytes.len == 7 && memcmp(bytes.at + 2, "level", 5) == 0;
        longest = bytes.len > longest ? bytes.len : longest;
        msgpack_unpacked_destroy(&v);
        pack_fini(&p);
    }
    for (int type = MSGPACK_OBJECT_NIL; type <= MSGPACK_OBJECT_EXT; type++)
        assert_true(types >> type & 1);
    assert_int_equal(counts, (1u << (RUBBISH_PARAMS_MAX + 1)) - 1);
    assert_int_equal(found, 1);
    assert_true(longest > RUBBISH_LARGE);
}

/* ---- smaller ones ---- */

typedef bool fails_fn(const msgpack_object *params);

/* Takes steps as long as it still fails, as narrow.c does. */
static void shrink_all(struct span params, fails_fn *fails, struct pack *out)
{
    pack_init(out);
    pack_raw(out, params);
    for (uint32_t step = 0;; step++) {
        struct pack p;
        msgpack_unpacked v;
        pack_init(&p);
        if (!shrink_pack(pack_bytes(out), step, &p)) {
            pack_fini(&p);
            return;
        }
        msgpack_unpacked_init(&v);
        struct span bytes = pack_bytes(&p);
        assert_int_equal(msgpack_unpack_next(&v, (const char *)bytes.at, bytes.len, NULL),
                         MSGPACK_UNPACK_SUCCESS);
        assert_int_equal(v.data.type, MSGPACK_OBJECT_ARRAY);
        if (fails(&v.data)) {
            assert_false(span_equal(bytes, pack_bytes(out)));
            pack_fini(out);
            pack_init(out);
            pack_raw(out, bytes);
            step = UINT32_MAX; /* from the begin */
        }
        msgpack_unpacked_destroy(&v);
        pack_fini(&p);
    }
}

static bool has_zero_behind(const msgpack_object *params)
{
    const msgpack_object_array *a = &params->via.array;
    return a->size == 2 && a->ptr[1].type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
           a->ptr[1].via.u64 == 0;
}

static bool has_long_text(const msgpack_object *params)
{
    const msgpack_object_array *a = &params->via.array;
    for (uint32_t i = 0; i < a->size; i++)
        if (a->ptr[i].type == MSGPACK_OBJECT_STR && a->ptr[i].via.str.size >= 10)
            return true;
    return false;
}

static bool has_key(const msgpack_object *params)
{
    const msgpack_object_array *a = &params->via.array;
    return a->size > 0 && a->ptr[0].type == MSGPACK_OBJECT_MAP && a->ptr[0].via.map.size > 0 &&
           a->ptr[0].via.map.ptr[0].val.type == MSGPACK_OBJECT_ARRAY;
}

static void assert_shrinks(const char *params, size_t len, fails_fn *fails, const char *to,
                           size_t to_len)
{
    struct pack out;
    shrink_all(span_of(params, len), fails, &out);
    assert_int_equal(pack_bytes(&out).len, to_len);
    assert_memory_equal(pack_bytes(&out).at, to, to_len);
    pack_fini(&out);
}

#define SHRINKS(from, fails, to) assert_shrinks(from, sizeof(from) - 1, fails, to, sizeof(to) - 1)

TEST(what_is_not_needed_goes)
{
    SHRINKS("\x92\xd1\xff\x00\x00", has_zero_behind, "\x92\x00\x00");
    SHRINKS("\x92\x81\xa1k\x93\x01\x02\x03\x00", has_zero_behind, "\x92\xc0\x00");
    SHRINKS("\x93\xc4\x02zz\xb4xxxxxxxxxxxxxxxxxxxx\xcb\x40\x00\x00\x00\x00\x00\x00\x00",
            has_long_text, "\x91\xaaxxxxxxxxxx");
    SHRINKS("\x92\x82\xa1k\x92\x01\x02\xa1l\xa2mm\xc3", has_key, "\x91\x81\xa0\x90");
}

TEST(what_cannot_be_smaller_has_no_steps)
{
    struct pack p;
    pack_init(&p);
    assert_false(shrink_pack(span_text("\x90"), 0, &p));
    pack_fini(&p);
    pack_init(&p);
    assert_false(shrink_pack(span_text("\xc1"), 0, &p));
    pack_fini(&p);
}

/* ---- the stock ---- */

TEST(parameters_with_a_new_answer_are_kept_once)
{
    static struct stock s;
    struct rubbish r = {1, &no_words};
    struct trial_outcome out = {.end = TRIAL_REFUSED, .code = "BAD_PARAMS", .text = "one"};
    struct pack first, second;
    pack_init(&first);
    assert_false(stock_pack(&s, &r, 1, &first));
    stock_take(&s, span_text("\x91\xc0"), &out);
    stock_take(&s, span_text("\x91\xc3"), &out);
    assert_int_equal(s.count, 1);
    snprintf(out.text, sizeof out.text, "two");
    stock_take(&s, span_text("\x91\xc3"), &out);
    out = (struct trial_outcome){.end = TRIAL_ANSWERED};
    stock_take(&s, span_text("\x91\x01"), &out);
    stock_take(&s, span_text("\x91\x02"), &out);
    out.end = TRIAL_CUT;
    stock_take(&s, span_text("\x91\xa1x"), &out);
    assert_int_equal(s.count, 3);
    pack_init(&second);
    assert_true(stock_pack(&s, &r, 1, &first));
    assert_true(stock_pack(&s, &r, 1, &second));
    assert_true(span_equal(pack_bytes(&first), pack_bytes(&second)));
    pack_fini(&first);
    pack_fini(&second);
    stock_free(&s);
}

/* ---- the log ---- */

static const struct death *death_of(struct server_log *l, const char *const *lines)
{
    uint32_t before = l->deaths;
    for (; *lines != NULL; lines++)
        server_log_line(l, *lines);
    assert_int_equal(l->deaths, before + 1);
    return &l->last;
}

TEST(an_end_is_read_from_the_log)
{
    struct server_log l = {.module = "harm.so"};
    const struct death *d = death_of(
        &l, (const char *const[]){
                "printed",
                "{\"msg\":\"the process of the module dies of a "
                "signal\",\"signal\":\"SIGSEGV\",\"address\":\"0x0\","
                "\"backtrace\":\"libc.so.6+0x1 harm.so+0x1278 harm.so+0x13e6\"}",
                "{\"msg\":\"process of a module ended\",\"reason\":\"signal 11 (SIGSEGV)\","
                "\"handler\":\"SIGSEGV\"}",
                NULL});
    assert_string_equal(d->reason, "SIGSEGV at 0x0");
    assert_string_equal(d->place, "harm.so+0x1278");
    assert_string_equal(d->output, "printed");
    d = death_of(&l, (const char *const[]){"{\"msg\":\"process of a module ended\",\"reason\":"
                                           "\"it exited with status 3\",\"handler\":null}",
                                           NULL});
    assert_string_equal(d->reason, "it exited with status 3");
    assert_string_equal(d->place, "");
    assert_string_equal(d->output, "");
    d = death_of(
        &l, (const char *const[]){
                "{\"msg\":\"the process of the module dies of a signal\",\"signal\":\"SIGABRT\"}",
                "{\"msg\":\"process of a module ended\",\"reason\":\"signal 6 (SIGABRT)\","
                "\"handler\":\"its step did not return in time\"}",
                NULL});
    assert_string_equal(d->reason, "its step did not return in time");
    d = death_of(&l, (const char *const[]){
                         "SUMMARY: AddressSanitizer: heap-buffer-overflow a.c:9 in over",
                         "{\"msg\":\"process of a module ended\",\"reason\":\"it exited\"}", NULL});
    assert_string_equal(d->reason, "AddressSanitizer: heap-buffer-overflow");
    assert_string_equal(d->place, "a.c:9 in over");
    assert_string_equal(l.refusal, "");
    server_log_line(&l, "{\"msg\":\"cannot start\",\"why\":\"no room\"}");
    assert_string_equal(l.refusal, "no room");
}

/* ---- counts ---- */

TEST(a_fault_counts_once_by_its_place)
{
    struct sheet h = {.module = "m.so", .method = "m", .seed = 1};
    struct trial t = {.params = span_of("\x91\xc0", 2)};
    struct trial_outcome out = {.end = TRIAL_CRASHED, .took_us = 5};
    struct death here = {.reason = "SIGSEGV at 0x0", .place = "m.so+0x1"};
    struct death there = {.reason = "SIGSEGV at 0x0", .place = "m.so+0x2"};
    struct death elsewhere = {.reason = "SIGSEGV at 0x8", .place = "m.so+0x1"};
    struct death nowhere = {.reason = "SIGKILL"};
    assert_non_null(sheet_count(&h, 3, &t, &out, &here));
    assert_null(sheet_count(&h, 4, &t, &out, &elsewhere));
    assert_non_null(sheet_count(&h, 5, &t, &out, &there));
    assert_non_null(sheet_count(&h, 6, &t, &out, &nowhere));
    out = (struct trial_outcome){.end = TRIAL_REFUSED, .code = "BAD_PARAMS", .took_us = 9};
    assert_null(sheet_count(&h, 7, &t, &out, &nowhere));
    assert_int_equal(h.fault_count, 3);
    assert_int_equal(h.faults[0].count, 2);
    assert_int_equal(h.crashed, 4);
    assert_int_equal(h.longest_number, 7);
    json_t *o = sheet_json(&h);
    assert_non_null(o);
    assert_int_equal(json_array_size(json_object_get(o, "faults")), 3);
    json_decref(o);
    sheet_fini(&h);
}
