/* Ids: one text an id, higher with every start. */
#include "server/jobs/core/ids.h"
#include "tests/support/cmocka_env.h"

static const uint64_t in_2026 = UINT64_C(1767225600000000000);

TEST(later_starts_are_higher)
{
    uint64_t first = id_first(in_2026, 0);
    assert_true(id_first(in_2026 + 1000000, 0) > first);
    assert_int_equal(id_first(in_2026 + 1000000, 0) - first, 1 << 22);
}

TEST(never_below_what_is_known)
{
    uint64_t known = id_first(in_2026, 0) + 12345;
    assert_int_equal(id_first(in_2026, known), known + 1);
    assert_int_equal(id_first(0, known), known + 1);
    assert_int_equal(id_first(0, 0), 1);
}

TEST(a_text_is_read_back)
{
    static const uint64_t ids[] = {1, 31, 32, UINT64_C(0x0123456789abcdef), UINT64_MAX};
    char buf[ID_TEXT_SIZE];
    uint64_t id;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_true(id_parse(span_text(id_text(ids[i], buf)), &id));
        assert_int_equal(id, ids[i]);
    }
    assert_string_equal(id_text(UINT64_MAX, buf), "tfzzzzzzzzzzzz");
    assert_string_equal(id_text(33, buf), "t0000000000011");
}

TEST(other_texts_are_no_ids)
{
    static const char *const texts[] = {"",
                                        "t",
                                        "t0000000000000",  /* none has this number */
                                        "x0000000000001",  /* another letter */
                                        "t000000000001",   /* too short */
                                        "t00000000000001", /* too long */
                                        "tg000000000000",  /* more than 64 bits */
                                        "t000000000000U",
                                        "t000000000000A",
                                        "t000000000000u"};
    uint64_t id;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(id_parse(span_text(texts[i]), &id));
    assert_false(id_parse(span_of("t00000000000\0"
                                  "1",
                                  14),
                          &id));
}
