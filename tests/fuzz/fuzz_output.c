#include "tests/fuzz/fuzz_output.h"

#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"

enum { OUTPUT_MAX = 1 << 22 };

static struct {
    char *room;
    FILE *out, *errors, *both; /* the first two are kept meanwhile */
} output;

void fuzz_output_begin(void)
{
    if (output.room == NULL)
        output.room = malloc(OUTPUT_MAX);
    CHECK(output.room != NULL);
    output.both = fmemopen(output.room, OUTPUT_MAX, "w");
    CHECK(output.both != NULL);
    output.out = stdout;
    output.errors = stderr;
    stdout = stderr = output.both;
}

struct span fuzz_output_end(void)
{
    stdout = output.out;
    stderr = output.errors;
    long len = ftell(output.both);
    CHECK(len >= 0 && len < OUTPUT_MAX);
    fclose(output.both);
    return span_of(output.room, (size_t)len);
}

void fuzz_check_plain(struct span text, bool one_line)
{
    while (text.len > 0) {
        size_t len = utf8_length(text);
        CHECK(len > 0);
        bool blank = *text.at == '\n' || *text.at == '\t';
        CHECK(!utf8_steers(span_of(text.at, len)) || (blank && !one_line));
        text = span_behind(text, len);
    }
}

size_t fuzz_lines(struct span text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n';
    return lines;
}
