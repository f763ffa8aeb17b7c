/* What `ergon doctor` and `ergon top` make of answers of a server.
 *
 * An input is a byte and JSON: the facts, as check.h has them; or an array of two samples, as
 * rates.h has them.
 *   - Findings are of checks that there are, the worst first; a name in a command to be copied is
 * one word of the shell, and the name itself; each has its lines, which no name breaks, and what is
 *     printed cannot steer a terminal, in each form.
 *   - A picture has no more lines and columns than the screen, whatever the figures are. */
#include <jansson.h>
#include <locale.h>
#include <string.h>

#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/report.h"
#include "client/cli/json.h"
#include "client/cli/top/rates.h"
#include "client/cli/top/views.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_output.h"
#include "tests/fuzz/fuzz_rest.h"

enum { TEXT_MAX = 16384 };

/* ---- findings ---- */

static const struct check *check_of(const char *name)
{
    for (const struct check *const *group = CHECKS; *group; group++)
        for (const struct check *c = *group; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    abort();
}

/* A character of $'...', behind the backslash. */
static const char *read_escape(const char *at, char *word, size_t *len)
{
    char digits[5] = "";

    if (*at != 'u') {
        CHECK(*at == '\'' || *at == '\\');
        word[(*len)++] = *at;
        return at;
    }
    memcpy(digits, at + 1, 4);
    unsigned long code = strtoul(digits, NULL, 16);
    if (code >= 0x800)
        word[(*len)++] = (char)(0xe0 | code >> 12);
    if (code >= 0x80)
        word[(*len)++] = (char)(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | code >> 6);
    word[(*len)++] = (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code);
    return at + 4;
}

/* One word as a shell reads it; returns what is behind. */
static const char *read_word(const char *at, char *word, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.:/@,+-";
    size_t len = 0;
    char quote = 0; /* ', or $ for $' */

    for (; *at != 0 && len + 4 < size; at++) {
        if (*at == '\'') {
            quote = quote ? 0 : *at;
        } else if (!quote && *at == '$') {
            CHECK(*++at == '\'');
            quote = '$';
        } else if (*at == '\\' && quote != '\'') {
            at = read_escape(at + 1, word, &len);
        } else if (quote || strchr(plain, *at)) {
            word[len++] = *at;
        } else {
            break;
        }
    }
    CHECK(!quote);
    word[len] = 0;
    return at;
}

/* The command is as it was written for the check, with the name in it. */
static void check_advice(const char *template, const char *advice, const char *about)
{
    static char word[2 * TEXT_MAX];

    while (*template != 0) {
        if (strncmp(template, "{}", 2) != 0) {
            CHECK(*template ++ == *advice++);
            continue;
        }
        template += 2;
        advice = read_word(advice, word, sizeof word);
        /* What stands behind the name may belong to the word, or not. */
        CHECK(strncmp(word, about, strlen(about)) == 0);
        size_t more = strlen(word) - strlen(about);
        CHECK(strncmp(template, word + strlen(about), more) == 0);
        template += more;
    }
    CHECK(*advice == 0);
}

static void check_finding(const json_t *f, enum severity *worst)
{
    const struct check *c = check_of(json_text(f, "finding"));
    enum severity s = severity_of(json_text(f, "severity"));

    CHECK(strcmp(c->severity, json_text(f, "severity")) == 0);
    CHECK(s != SEVERITY_NONE && s <= *worst);
    *worst = s;
    CHECK(*json_text(f, "text") != 0 && json_is_object(json_object_get(f, "evidence")));
    check_advice(c->advice, json_text(f, "advice"), json_text(f, "about"));
}

/* Of each a line itself, one of figures where there are some, its advice, and a blank one between.
 */
static size_t lines_of(const json_t *findings)
{
    size_t i, lines = 0;
    json_t *one;

    json_array_foreach(findings, i, one)
    {
        lines += i > 0 ? 3 : 2;
        lines += json_object_size(json_object_get(one, "evidence")) > 0;
    }
    return lines;
}

static void check_report(const struct report *r)
{
    const struct globals people = {.server = "ergon://here", .no_color = true, .quiet = true};
    struct globals programs = people;
    size_t count = json_array_size(r->findings);
    json_error_t error;

    programs.json = true;
    fuzz_output_begin();
    report_print(&people, r);
    struct span text = fuzz_output_end();
    fuzz_check_plain(text, false);
    CHECK(fuzz_lines(text) == lines_of(r->findings) + (count == 0 && text.len > 0));
    fuzz_output_begin();
    report_print(&programs, r);
    text = fuzz_output_end();
    fuzz_check_plain(text, false);
    json_t *again = json_loadb((const char *)text.at, text.len, JSON_ALLOW_NUL, &error);
    CHECK(again && json_array_size(json_object_get(again, "findings")) == count);
    json_decref(again);
    fuzz_output_begin();
    enum status status = report_print_plugin(r);
    text = fuzz_output_end();
    fuzz_check_plain(text, false);
    CHECK(status <= 3 && fuzz_lines(text) == (count > 0 ? count : 1));
}

static void check_facts(const json_t *facts)
{
    static const struct option_list none;
    struct choice choice;
    enum severity worst = SEVERITY_ERROR;
    char why[200];
    size_t i;
    json_t *one, *found = checks_run(facts);

    CHECK(json_is_array(found));
    CHECK(choice_read(&choice, &none, &none, NULL, why, sizeof why));
    json_array_foreach(found, i, one)
    {
        check_finding(one, &worst);
    }
    struct report r = {.choice = &choice,
                       .findings = choice_of(&choice, found),
                       .not_asked = json_object_get(facts, "not_asked")};
    CHECK(json_array_size(r.findings) == json_array_size(found));
    check_report(&r);
    json_decref(r.findings);
    json_decref(found);
}

/* ---- pictures ---- */

static void check_picture(const json_t *model, uint8_t how, enum view_id view)
{
    struct view_state state;
    struct frame f;

    view_state_init(&state);
    state.view = view;
    for (int i = 0; i < how % 5; i++)
        view_sort_by(&state, how & 8 ? -1 : 1);
    state.reversed[view] = how & 16;
    state.scroll = how & 32 ? 2 : 0;
    snprintf(state.filter, sizeof state.filter, "%s", how & 64 ? "e" : "");
    frame_init(&f, how & 4 ? 200 : 60, how & 2 ? 40 : 8);
    view_header(&f, model, "ergon://here");
    view_rows(&f, model, &state);
    CHECK(f.count <= f.height);
    for (size_t i = 0; i < f.count; i++) {
        fuzz_check_plain(span_text(f.lines[i].text), true);
        CHECK(text_width(f.lines[i].text) <= f.width);
    }
    frame_fini(&f);
}

static void check_samples(const json_t *both, uint8_t how)
{
    json_t *before = json_array_get(both, 0), *now = json_array_get(both, 1);

    if (!json_is_object(now) || !(json_is_object(before) || json_is_null(before)))
        return;
    json_t *model = model_of(json_is_null(before) ? NULL : before, now);
    CHECK(json_is_object(model));
    for (enum view_id view = 0; view < VIEW_COUNT; view++)
        check_picture(model, how, view);
    json_decref(model);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static bool began;
    json_error_t error;

    if (!began)
        setlocale(LC_CTYPE, "C.UTF-8");
    began = true;
    if (size > TEXT_MAX)
        return;
    fuzz_begin(data, size);
    uint8_t how = fuzz_byte();
    struct span text = fuzz_rest();
    json_t *value = json_loadb((const char *)text.at, text.len, 0, &error);
    if (json_is_object(value))
        check_facts(value);
    else if (json_is_array(value))
        check_samples(value, how);
    json_decref(value);
}
