#include "client/cli/module/sheet.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/hex.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "proto/display.h"

enum {
    SHOWN_MAX = 300, /* bytes of parameters as text */
    HEX_MAX = 160,   /* of parameters as digits, where their number says which they are, too */
    WORD_MAX = 60000 /* that fit into a command line as digits; programs are given no more, too */
};

/* --- Counting --- */

void sheet_fini(struct sheet *h)
{
    for (uint32_t i = 0; i < h->fault_count; i++)
        free(h->faults[i].params);
    h->fault_count = 0;
}

static void count_code(struct sheet *h, uint64_t number, const struct trial_outcome *out)
{
    uint32_t i = 0;
    while (i < h->code_count && strcmp(h->codes[i].name, out->code) != 0)
        i++;
    if (i == SHEET_CODES_MAX) {
        h->others++;
        return;
    }
    struct sheet_code *c = &h->codes[i];
    if (i == h->code_count) {
        *c = (struct sheet_code){.number = number};
        snprintf(c->name, sizeof c->name, "%s", out->code);
        snprintf(c->text, sizeof c->text, "%s", out->text);
        h->code_count++;
    }
    c->count++;
}

/* By where it was; where that is not known, by what it was, but for the address. */
bool fault_is(const struct fault *f, enum trial_end end, const struct death *death)
{
    const char *was = f->death.reason, *is = death->reason;
    size_t len = strcspn(was, " ");
    if (f->end != end)
        return false;
    if (f->death.place[0] != 0 || death->place[0] != 0)
        return strcmp(f->death.place, death->place) == 0;
    return strcspn(is, " ") == len && strncmp(was, is, len) == 0;
}

bool fault_take_params(struct fault *f, struct span params)
{
    uint8_t *copy = malloc(params.len > 0 ? params.len : 1);
    if (copy == NULL)
        return false;
    memcpy(copy, params.at, params.len);
    free(f->params);
    f->params = copy;
    f->params_len = params.len;
    return true;
}

static struct fault *count_fault(struct sheet *h, uint64_t number, const struct trial *t,
                                 const struct trial_outcome *out, const struct death *death)
{
    for (uint32_t i = 0; i < h->fault_count; i++)
        if (fault_is(&h->faults[i], out->end, death)) {
            h->faults[i].count++;
            return NULL;
        }
    if (h->fault_count == SHEET_FAULTS_MAX)
        return NULL;
    struct fault *f = &h->faults[h->fault_count];
    *f = (struct fault){
        .end = out->end, .way = t->way, .number = number, .count = 1, .death = *death};
    if (!fault_take_params(f, t->params))
        return NULL;
    h->fault_count++;
    return f;
}

struct fault *sheet_count(struct sheet *h, uint64_t number, const struct trial *t,
                          const struct trial_outcome *out, const struct death *death)
{
    h->calls++;
    h->late += out->late;
    if (out->end == TRIAL_ANSWERED || out->end == TRIAL_REFUSED) {
        bool is_longest = out->took_us > h->longest_us;
        h->longest_us = is_longest ? out->took_us : h->longest_us;
        h->longest_number = is_longest ? number : h->longest_number;
    }
    if (out->end == TRIAL_ANSWERED)
        h->answered++;
    else if (out->end == TRIAL_REFUSED)
        count_code(h, number, out);
    else if (out->end == TRIAL_CUT)
        h->cut++;
    else if (out->end == TRIAL_CRASHED)
        h->crashed++;
    else if (out->end == TRIAL_STUCK)
        h->stuck++;
    return out->end == TRIAL_CRASHED || out->end == TRIAL_STUCK
               ? count_fault(h, number, t, out, death)
               : NULL;
}

/* --- Printing --- */

static void print_count(uint64_t count, const char *what, bool *first)
{
    if (count > 0)
        say("%s %" PRIu64 " %s", *first ? ":" : ",", count, what);
    *first = *first && count == 0;
}

static void print_counts(const struct sheet *h)
{
    char took[32];
    bool first = true;
    say("%s: %" PRIu64 " call%s", h->method, h->calls, h->calls == 1 ? "" : "s");
    print_count(h->answered, "answered", &first);
    for (uint32_t i = 0; i < h->code_count; i++)
        print_count(h->codes[i].count, h->codes[i].name, &first);
    print_count(h->others, "with other codes", &first);
    print_count(h->cut, "cut off", &first);
    print_count(h->crashed, "CRASHED", &first);
    print_count(h->stuck, "did not return", &first);
    if (h->longest_us > 0)
        say("; the longest took %s", humanize_us(h->longest_us, took, sizeof took));
    if (h->longest_number > 0)
        say(" (case %" PRIu64 ")", h->longest_number);
    putchar('\n');
}

/* Codes that say that something is wrong with the handler, or the server, and not with rubbish. */
static bool is_suspect(const char *code)
{
    static const char *const suspects[] = {"INTERNAL", "FAILED",      "MEMORY", "NO_EXECUTOR",
                                           "BUSY",     "BAD_CHANGES", "STORE",  "NO_WORKER"};
    for (size_t i = 0; i < sizeof suspects / sizeof *suspects; i++)
        if (strcmp(code, suspects[i]) == 0)
            return true;
    return false;
}

static char *hex_of(const struct fault *f)
{
    char *text = calloc(1, 2 * f->params_len + 1);
    if (text != NULL)
        hex_write(f->params, f->params_len, text);
    return text;
}

static void print_params(const struct fault *f)
{
    char *shown = malloc(DISPLAY_MAX);
    uint32_t work = 0;
    size_t len = shown != NULL ? display_value(span_of(f->params, f->params_len), shown, &work) : 0;
    say("    parameters%s: %.*s%s\n", f->smaller ? " (made smaller)" : "",
        (int)(len < SHOWN_MAX ? len : SHOWN_MAX), shown, len < SHOWN_MAX ? "" : "...");
    free(shown);
}

static void print_again(const struct sheet *h, const struct fault *f)
{
    size_t most = f->number == 0 || f->derived ? WORD_MAX : HEX_MAX;
    char *hex = f->params_len <= most ? hex_of(f) : NULL;
    say("    again: ergon module check %s %s ", h->module, h->method);
    if (hex != NULL)
        say("--params %s\n", hex);
    else
        say("--seed %" PRIu64 " --case %" PRIu64 "\n", h->seed, f->number);
    free(hex);
}

static void print_fault(const struct sheet *h, const struct fault *f)
{
    char count[40] = "";
    if (f->count > 1)
        snprintf(count, sizeof count, ", %" PRIu64 " times", f->count);
    say("  %s: %s%s%s%s", f->end == TRIAL_CRASHED ? "CRASHED" : "did not return",
        f->death.reason[0] != 0 ? f->death.reason : "it goes on",
        f->death.place[0] != 0 ? " in " : "", f->death.place, count);
    if (f->number > 0)
        say("; case %" PRIu64 " of seed %" PRIu64 ", %s", f->number, h->seed,
            trial_way_name(f->way));
    putchar('\n');
    print_params(f);
    print_again(h, f);
    if (f->death.output[0] != 0) {
        puts("    it printed:");
        for (const char *at = f->death.output; *at != 0;) {
            size_t len = strcspn(at, "\n");
            say("      %.*s\n", (int)len, at);
            at += len + (at[len] != 0);
        }
    }
}

void sheet_print(const struct sheet *h)
{
    print_counts(h);
    for (uint32_t i = 0; i < h->code_count; i++)
        if (is_suspect(h->codes[i].name))
            say("  %s, first in case %" PRIu64 ": %s\n", h->codes[i].name, h->codes[i].number,
                h->codes[i].text);
    if (h->late > 0)
        say("  %" PRIu64 " had no answer in time, and %s cancelled\n", h->late,
            h->late == 1 ? "was" : "were");
    for (uint32_t i = 0; i < h->fault_count; i++)
        print_fault(h, &h->faults[i]);
    if (h->gave_up)
        puts("  the rest was left out: too many of these");
}

/* --- For programs --- */

static json_t *fault_json(const struct fault *f)
{
    bool is_short = f->params_len <= WORD_MAX;
    struct span params = span_of(f->params, f->params_len);
    char *hex = is_short ? hex_of(f) : NULL;
    json_t *o = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:s, s:I, s:b, s:o, s:o, s:I}", "code",
        f->end == TRIAL_CRASHED ? "CRASHED" : "STUCK", "reason", f->death.reason, "place",
        json_text_or_null(f->death.place), "output", json_text_or_null(f->death.output), "case",
        (json_int_t)f->number, "way", trial_way_name(f->way), "count", (json_int_t)f->count,
        "smaller", (int)f->smaller, "params", is_short ? json_from_value(params) : json_null(),
        "hex", json_text_or_null(hex != NULL ? hex : ""), "size", (json_int_t)f->params_len);
    free(hex);
    return o;
}

json_t *sheet_json(const struct sheet *h)
{
    json_t *codes = json_object(), *faults = json_array();
    for (uint32_t i = 0; i < h->code_count; i++)
        json_object_set_new(codes, h->codes[i].name,
                            json_pack("{s:I, s:I, s:s}", "count", (json_int_t)h->codes[i].count,
                                      "case", (json_int_t)h->codes[i].number, "text",
                                      h->codes[i].text));
    for (uint32_t i = 0; i < h->fault_count; i++)
        json_array_append_new(faults, fault_json(&h->faults[i]));
    return json_pack("{s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "method", h->method,
                     "calls", (json_int_t)h->calls, "answered", (json_int_t)h->answered, "errors",
                     codes, "cut", (json_int_t)h->cut, "late", (json_int_t)h->late, "crashed",
                     (json_int_t)h->crashed, "stuck", (json_int_t)h->stuck, "longest_us",
                     (json_int_t)h->longest_us, "gave_up", (int)h->gave_up, "faults", faults);
}
