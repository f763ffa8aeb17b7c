#include "client/cli/doctor/report.h"

#include "client/cli/doctor/checks.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

#include <string.h>

/* ---- for people ---- */

/* How long ago `at` was: the finding's text says it in a unit that fits. */
static bool is_age(const json_t *evidence, const char *key)
{
    return json_object_get(evidence, "at") != NULL &&
           (strcmp(key, "hours") == 0 || strcmp(key, "days") == 0);
}

/* "queued 7, seconds 1.2" */
static void print_evidence(json_t *evidence)
{
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach(evidence, key, value)
    {
        if (is_age(evidence, key))
            continue;
        printf("%s", first ? "    " : ", ");
        first = false;
        if (json_is_string(value)) {
            printf("%s \"", key);
            print_text(json_string_value(value));
            putchar('"');
        } else if (strcmp(key, "at") == 0) {
            char moment[48];
            say("%s %s", key,
                humanize_moment((int64_t)json_number_value(value), moment, sizeof moment));
        } else if (json_is_integer(value))
            say("%s %" JSON_INTEGER_FORMAT, key, json_integer_value(value));
        else
            say("%s %.2f", key, json_real_value(value));
    }
    if (!first)
        putchar('\n');
}

static void print_finding(const json_t *f, bool colour)
{
    static const char *const paints[] = {[SEVERITY_NONE] = "",
                                         [SEVERITY_NOTE] = "\033[1m",
                                         [SEVERITY_WARNING] = "\033[1;33m",
                                         [SEVERITY_ERROR] = "\033[1;31m"};
    const char *severity = json_text(f, "severity");
    printf("%s%s%s ", colour ? paints[severity_of(severity)] : "", severity,
           colour ? "\033[0m" : "");
    say("%s: %s\n", json_text(f, "finding"), json_text(f, "text"));
    print_evidence(json_object_get(f, "evidence"));
    say("    -> %s\n", json_text(f, "advice"));
}

static void print_findings(const struct globals *g, const struct report *r)
{
    size_t i;
    json_t *one;
    bool colour = colour_wanted(g, stdout);
    json_array_foreach(r->findings, i, one)
    {
        if (i > 0)
            putchar('\n');
        print_finding(one, colour);
    }
    if (json_array_size(r->findings) == 0 && !g->quiet && r->looked == STATUS_OK)
        say("all well at %s (%zu checks)\n", g->server, choice_count(r->choice));
}

/* To standard error: what nobody looked at is not well. */
static void tell_unasked(const struct globals *g, const json_t *names)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name)
    {
        if (!g->quiet && json_is_string(name))
            complain("not looked at, since the server does not let us: %s",
                     json_string_value(name));
    }
}

static enum status print_object(const struct globals *g, const struct report *r,
                                enum severity worst)
{
    json_t *object = json_pack("{s:s, s:i, s:s?, s:O}", "server", g->server, "checks",
                               (int)choice_count(r->choice), "worst", severity_name(worst),
                               "findings", r->findings);
    json_t *unasked = r->not_asked != NULL ? json_deep_copy(r->not_asked) : json_array();
    if (object != NULL)
        json_object_set_new(object, "not_asked", unasked);
    else
        json_decref(unasked);
    return print_json(object);
}

enum status report_print(const struct globals *g, const struct report *r)
{
    enum severity worst = severity_worst(r->findings);
    enum status status = STATUS_OK;
    if (g->json)
        status = print_object(g, r, worst);
    else {
        print_findings(g, r);
        tell_unasked(g, r->not_asked);
    }
    if (r->looked != STATUS_OK)
        return r->looked;
    return choice_fails(r->choice, worst) ? STATUS_REMOTE : status;
}

/* ---- for monitoring ---- */

enum plugin { PLUGIN_OK, PLUGIN_WARNING, PLUGIN_CRITICAL, PLUGIN_UNKNOWN };

/* Who may not look knows nothing; that nobody answers is known. */
static enum plugin plugin_of(const struct report *r, enum severity worst)
{
    if (r->looked == STATUS_AUTH)
        return PLUGIN_UNKNOWN;
    if (r->looked != STATUS_OK)
        return PLUGIN_CRITICAL;
    if (!choice_fails(r->choice, worst))
        return PLUGIN_OK;
    return worst == SEVERITY_ERROR ? PLUGIN_CRITICAL : PLUGIN_WARNING;
}

/* In one line, and without what separates figures. */
static void say_for_plugin(const json_t *f)
{
    char text[700];
    snprintf(text, sizeof text, "%s: %s", json_text(f, "finding"), json_text(f, "text"));
    for (char *at = text; *at != 0; at++)
        if (*at == '|' || *at == '\n')
            *at = '/';
    say("%s", text);
}

static size_t count_of(const json_t *findings, enum severity wanted)
{
    size_t i, count = 0;
    json_t *one;
    json_array_foreach(findings, i, one)
    {
        count += severity_of(json_text(one, "severity")) == wanted;
    }
    return count;
}

enum status report_print_plugin(const struct report *r)
{
    static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    enum plugin plugin = plugin_of(r, severity_worst(r->findings));
    const json_t *first = json_array_get(r->findings, 0);
    size_t i, unasked = json_array_size(r->not_asked);
    json_t *one;
    printf("ERGON %s: ", words[plugin]);
    if (first != NULL)
        say_for_plugin(first);
    else if (r->looked == STATUS_OK)
        printf("all well");
    else
        printf("the server does not let us look");
    if (unasked > 0)
        printf(" (%zu methods may not be asked)", unasked);
    printf(" | errors=%zu warnings=%zu notes=%zu\n", count_of(r->findings, SEVERITY_ERROR),
           count_of(r->findings, SEVERITY_WARNING), count_of(r->findings, SEVERITY_NOTE));
    json_array_foreach(r->findings, i, one)
    {
        if (i > 0) {
            printf("%s ", json_text(one, "severity"));
            say_for_plugin(one);
            putchar('\n');
        }
    }
    return (enum status)plugin;
}

/* ---- the checks ---- */

enum status report_checks(const struct globals *g)
{
    static const char *const columns[] = {"finding", "severity", "advice", NULL};
    json_t *rows = json_array();
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *c = *group; c->name != NULL; c++)
            json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "finding", c->name, "severity",
                                                  c->severity, "advice", c->advice));
    if (g->json)
        return print_json(rows);
    table_print(rows, columns, 0, colour_wanted(g, stdout));
    json_decref(rows);
    return STATUS_OK;
}
