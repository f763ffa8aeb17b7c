#include "base/suggest.h"

#include "tests/support/cmocka_env.h"

static struct span nearest(const char *word, size_t edits)
{
    static const char *const names[] = {"ping", "info", "methods", "call", "watch", "wait"};
    struct suggestion s = suggest_for(span_text(word), edits);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        suggest_offer(&s, span_text(names[i]));
    return s.name;
}

TEST(the_nearest_candidate_is_found)
{
    assert_true(span_is(nearest("pnig", 2), "ping"));
    assert_true(span_is(nearest("method", 3), "methods"));
    assert_true(span_is(nearest("cal", 1), "call"));
    assert_true(span_is(nearest("pnig", 1), "ping")); /* two that changed places are one edit */
    assert_true(span_is(nearest("wat", 2), "wait"));  /* one edit; "watch" takes two */
}

TEST(what_is_too_far_is_no_likeness)
{
    char longer[SUGGEST_WORD_MAX + 2] = {0};

    assert_int_equal(nearest("zzzz", 2).len, 0);
    assert_int_equal(nearest("pxxg", 1).len, 0);
    assert_int_equal(nearest("", 2).len, 0);
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(nearest(longer, 100).len, 0);
}
