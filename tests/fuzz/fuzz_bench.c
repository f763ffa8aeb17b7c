/* What `ergon bench` reads: the calls of a file or a mix, and two reports to be compared.
 *
 * An input begins with a byte that says which.
 *   - Calls that are taken have names within bounds, whole lists of parameters, and weights; what
 * is refused is told, and by its line.
 *   - Two reports, with a zero between them, are compared, or it is told which is none; as JSON
 * they are JSON, and as text nothing in them breaks a line or steers a terminal. */
#include <jansson.h>
#include <string.h>

#include "client/bench/compare.h"
#include "client/cli/bench_calls.h"
#include "client/cli/cli.h"
#include "proto/envelope.h"
#include "proto/scanner.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/fuzz/fuzz_output.h"
#include "tests/fuzz/fuzz_rest.h"

enum { TEXT_MAX = 16384 };

static struct fuzz_file files[2];

/* ---- calls ---- */

static void check_calls(const struct bench_calls *c)
{
    static const struct scan_limits limits = {.message_max = 1 << 20, .depth_max = 200};
    struct scanner s;

    CHECK(c->work.count > 0 && c->work.count <= BENCH_MIX_MAX);
    for (uint32_t i = 0; i < c->work.count; i++) {
        struct span params = pack_bytes(&c->params[i]);
        CHECK(c->names[i] && strlen(c->names[i]) > 0 && strlen(c->names[i]) <= METHOD_NAME_MAX);
        scanner_init(&s);
        CHECK(scanner_run(&s, &limits, params) == SCAN_WHOLE && s.done == params.len);
        CHECK((*params.at & 0xf0) == 0x90 || *params.at == 0xdc || *params.at == 0xdd);
    }
}

static void check_plan(const struct bench_calls_plan *plan)
{
    static struct bench_calls c;

    fuzz_output_begin();
    bool good = bench_calls_init(&c, plan);
    struct span told = fuzz_output_end();
    fuzz_check_plain(told, false);
    CHECK(good == (told.len == 0));
    if (good)
        check_calls(&c);
    bench_calls_fini(&c);
}

/* ---- reports ---- */

static void check_rate(const char *path)
{
    json_t *report = json_load_file(path, 0, NULL);
    double rate = json_number_value(json_object_get(report, "answers_per_second"));

    CHECK(rate >= 0 && rate < 1e16);
    json_decref(report);
}

static void check_compared(bool json)
{
    char why[400] = "";
    json_error_t error;

    fuzz_output_begin();
    bool good = compare_print(files[0].path, files[1].path, json, why, sizeof why);
    struct span text = fuzz_output_end();
    CHECK(good == (why[0] == 0) && good == (text.len > 0));
    fuzz_check_plain(text, false);
    fuzz_check_plain(span_text(why), true);
    if (!good)
        return;
    check_rate(files[0].path);
    check_rate(files[1].path);
    if (!json)
        return;
    json_t *all = json_loadb((const char *)text.at, text.len, 0, &error);
    CHECK(json_is_object(json_object_get(all, "figures")));
    CHECK(json_object_size(json_object_get(all, "figures")) > 0);
    CHECK(json_is_array(json_object_get(all, "differs")));
    json_decref(all);
}

static void check_reports(bool json)
{
    struct span first = fuzz_rest();
    const uint8_t *end = first.len > 0 ? memchr(first.at, 0, first.len) : NULL;
    size_t len = end ? (size_t)(end - first.at) : first.len;

    fuzz_file_set(&files[0], span_of(first.at, len));
    fuzz_file_set(&files[1], end ? span_behind(first, len + 1) : first);
    check_compared(json);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static char text[TEXT_MAX + 1];
    struct bench_calls_plan plan = {0};

    if (files[0].path[0] == 0) {
        fuzz_file_open(&files[0], span_of(NULL, 0));
        fuzz_file_open(&files[1], span_of(NULL, 0));
    }
    if (size > TEXT_MAX)
        return;
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    struct span rest = fuzz_rest();
    memcpy(text, rest.at, rest.len);
    text[rest.len] = 0;
    plan.submit = how & 8 ? "{\"durable\":\"none\"}" : NULL;
    switch (how % 4) {
    case 0:
        fuzz_file_set(&files[0], rest);
        plan.file = files[0].path;
        check_plan(&plan);
        return;
    case 1:
        plan.mix = text;
        if (!strchr(text, '@')) /* else it names a file, which may have no end */
            check_plan(&plan);
        return;
    default:
        check_reports(how & 4);
    }
}
