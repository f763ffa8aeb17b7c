#include "client/cli/doctor/choice.h"

#include "base/suggest.h"
#include "client/cli/doctor/checks.h"
#include "client/cli/json.h"

#include <stdio.h>
#include <string.h>

enum { LIKE = 4 /* edits: names are long, and alike in a part */ };

static const char *const severities[] = {
    [SEVERITY_NOTE] = "note", [SEVERITY_WARNING] = "warning", [SEVERITY_ERROR] = "error"};
enum { SEVERITIES = sizeof severities / sizeof *severities };

enum severity severity_of(const char *name)
{
    for (size_t s = SEVERITY_NOTE; s < SEVERITIES; s++)
        if (strcmp(name, severities[s]) == 0)
            return (enum severity)s;
    return SEVERITY_NONE;
}

const char *severity_name(enum severity s)
{
    return severities[s];
}

enum severity severity_worst(const json_t *findings)
{
    enum severity worst = SEVERITY_NONE;
    size_t i;
    json_t *one;
    json_array_foreach(findings, i, one)
    {
        enum severity s = severity_of(json_text(one, "severity"));
        worst = s > worst ? s : worst;
    }
    return worst;
}

/* ---- the names ---- */

static const struct check *check_named(struct span name)
{
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *c = *group; c->name != NULL; c++)
            if (span_is(name, c->name))
                return c;
    return NULL;
}

/* The next of those that stand between commas; false: that was the last. */
static bool next_name(const char **at, struct span *name)
{
    size_t len = strcspn(*at, ",");
    *name = span_of(*at, len);
    *at += len + ((*at)[len] == ',');
    return len > 0;
}

static bool complain_of(struct span name, char *why, size_t why_size)
{
    struct suggestion near = suggest_for(name, LIKE);
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *c = *group; c->name != NULL; c++)
            suggest_offer(&near, span_text(c->name));
    if (near.name.len > 0)
        snprintf(why, why_size, "there is no finding '%.*s'; did you mean '%.*s'?", (int)name.len,
                 (const char *)name.at, (int)near.name.len, (const char *)near.name.at);
    else
        snprintf(why, why_size, "there is no finding '%.*s'; --list shows all", (int)name.len,
                 (const char *)name.at);
    return false;
}

static bool all_known(const struct option_list *list, char *why, size_t why_size)
{
    struct span name;
    for (size_t i = 0; i < list->count; i++) {
        const char *at = list->at[i];
        while (next_name(&at, &name))
            if (check_named(name) == NULL)
                return complain_of(name, why, why_size);
    }
    return true;
}

static bool is_in(const struct option_list *list, const char *wanted)
{
    struct span name;
    for (size_t i = 0; i < list->count; i++) {
        const char *at = list->at[i];
        while (next_name(&at, &name))
            if (span_is(name, wanted))
                return true;
    }
    return false;
}

/* ---- the choice ---- */

bool choice_read(struct choice *c, const struct option_list *only, const struct option_list *ignore,
                 const char *fail_on, char *why, size_t why_size)
{
    *c = (struct choice){.only = only, .ignore = ignore, .fail_on = SEVERITY_WARNING};
    if (!all_known(only, why, why_size) || !all_known(ignore, why, why_size))
        return false;
    if (fail_on == NULL)
        return true;
    c->fail_on = severity_of(fail_on);
    bool good = c->fail_on != SEVERITY_NONE || strcmp(fail_on, "never") == 0;
    if (!good)
        snprintf(why, why_size, "--fail-on takes error, warning, note or never, not '%s'", fail_on);
    return good;
}

bool choice_has(const struct choice *c, const char *name)
{
    return (c->only->count == 0 || is_in(c->only, name)) && !is_in(c->ignore, name);
}

size_t choice_count(const struct choice *c)
{
    size_t count = 0;
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *k = *group; k->name != NULL; k++)
            count += choice_has(c, k->name);
    return count;
}

json_t *choice_of(const struct choice *c, const json_t *findings)
{
    json_t *wanted = json_array(), *one;
    size_t i;
    json_array_foreach(findings, i, one)
    {
        if (choice_has(c, json_text(one, "finding")))
            json_array_append(wanted, one);
    }
    return wanted;
}

bool choice_fails(const struct choice *c, enum severity worst)
{
    return c->fail_on != SEVERITY_NONE && worst >= c->fail_on;
}
