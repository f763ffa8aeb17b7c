/* Help in lines that fit a terminal. */
#include "client/cli/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_env.h"

enum { WIDTH = 79 };

static char *text;
static size_t size;

static FILE *begin(void)
{
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    return out;
}

static void ends_as(FILE *out, const char *expected)
{
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void in_paragraphs(const char *before, const char *after)
{
    FILE *out = begin();
    wrap_paragraphs(out, before);
    ends_as(out, after);
}

TEST(lines_of_a_paragraph_are_joined_and_others_stay)
{
    in_paragraphs("", "");
    in_paragraphs("one\ntwo\n", "one two\n");
    in_paragraphs("one\n\ntwo\n  as it is\n  this too\nthree", "one\n\ntwo\n  as it is\n"
                                                               "  this too\nthree\n");
    in_paragraphs("  first\nsecond\n", "  first\nsecond\n");
}

TEST(no_line_is_longer_than_a_terminal)
{
    char before[600], *line, *rest;
    FILE *out = begin();
    size_t words = 0;
    for (size_t i = 0; i < sizeof before - 1; i++)
        before[i] = i % 7 == 6 ? ' ' : 'x';
    before[sizeof before - 1] = 0;
    wrap_paragraphs(out, before);
    fclose(out);
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        assert_in_range(strlen(line), 1, WIDTH);
        words += (strlen(line) + 1) / 7;
    }
    assert_in_range(words, sizeof before / 7 - 1, sizeof before / 7 + 1);
    free(text);
}

TEST(what_goes_on_is_indented_and_a_long_word_stays_whole)
{
    char word[101] = {0}, expected[400];
    FILE *out = begin();
    memset(word, 'w', sizeof word - 1);
    snprintf(expected, sizeof expected, "a\n%*s%s\n%*sb\n", 10, "", word, 10, "");
    char joined[300];
    snprintf(joined, sizeof joined, "a %s b", word);
    wrap_behind(out, 10, joined);
    ends_as(out, expected);
}
