/* ergon doctor: what is wrong with a server, and what to do about it. */
#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/gather.h"

#include "client/cli/json.h"
#include "client/cli/output.h"

#include <string.h>

enum { DOCTOR_CONNECT_MS = 10 * 1000 };

struct doctor_options {
    uint64_t between_ns;
    bool remote;
};

static const struct option_spec DOCTOR_OPTIONS[] = {
    {0, "for", "TIME", "between the two looks at what grows; 1s", OPTION_DURATION,
     offsetof(struct doctor_options, between_ns)},
    {0, "remote", NULL, "look at the server alone, not at this machine if it is the server's",
     OPTION_FLAG, offsetof(struct doctor_options, remote)},
    {0},
};

static const struct doctor_options DOCTOR_DEFAULTS = {.between_ns = UINT64_C(1000000000)};

static size_t count_checks(void)
{
    size_t count = 0;
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (const struct check *c = *group; c->name != NULL; c++)
            count++;
    return count;
}

/* "queued 7, seconds 1.2" */
static void print_evidence(json_t *evidence)
{
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach(evidence, key, value)
    {
        printf("%s", first ? "    " : ", ");
        first = false;
        if (json_is_string(value))
            say("%s \"%s\"", key, json_string_value(value));
        else if (json_is_integer(value))
            say("%s %" JSON_INTEGER_FORMAT, key, json_integer_value(value));
        else
            say("%s %.2f", key, json_real_value(value));
    }
    if (!first)
        putchar('\n');
}

static void print_finding(const json_t *f, bool colour)
{
    const char *severity = json_text(f, "severity");
    const char *paint = strcmp(severity, "error") == 0     ? "\033[1;31m"
                        : strcmp(severity, "warning") == 0 ? "\033[1;33m"
                                                           : "\033[1m";
    printf("%s%s%s ", colour ? paint : "", severity, colour ? "\033[0m" : "");
    say("%s: %s\n", json_text(f, "finding"), json_text(f, "text"));
    print_evidence(json_object_get(f, "evidence"));
    say("    -> %s\n", json_text(f, "advice"));
}

static void print_findings(const struct globals *g, const json_t *findings, bool looked)
{
    size_t i;
    json_t *one;
    bool colour = colour_wanted(g, stdout);
    json_array_foreach(findings, i, one)
    {
        if (i > 0)
            putchar('\n');
        print_finding(one, colour);
    }
    if (json_array_size(findings) == 0 && !g->quiet && looked)
        say("all well at %s (%zu checks)\n", g->server, count_checks());
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

/* Notes are worth knowing, and no trouble. */
static bool is_trouble(const json_t *findings)
{
    size_t i;
    json_t *one;
    json_array_foreach(findings, i, one)
    {
        if (strcmp(json_text(one, "severity"), "note") != 0)
            return true;
    }
    return false;
}

/* Who may not even ask for server.info has seen nothing. */
static bool has_looked(const json_t *facts)
{
    return json_object_get(facts, "info") != NULL;
}

static enum status report(const struct globals *g, json_t *facts)
{
    enum status status = STATUS_OK;
    json_t *findings = checks_run(facts);
    const json_t *unasked = json_object_get(facts, "not_asked");
    if (g->json)
        status =
            print_json(json_pack("{s:s, s:i, s:O, s:O}", "server", g->server, "checks",
                                 (int)count_checks(), "findings", findings, "not_asked", unasked));
    else {
        print_findings(g, findings, has_looked(facts));
        tell_unasked(g, unasked);
    }
    if (is_trouble(findings))
        status = STATUS_REMOTE;
    else if (status == STATUS_OK && !has_looked(facts))
        status = STATUS_AUTH;
    json_decref(findings);
    return status;
}

static enum status doctor(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct doctor_options *o = options;
    struct session s;
    (void)argc;
    (void)argv;
    enum status status = session_open(&s, g, DOCTOR_CONNECT_MS, false);
    if (status != STATUS_OK)
        return status;
    json_t *facts = facts_gather(&s, o->between_ns, !o->remote);
    status = facts != NULL ? report(g, facts) : STATUS_CONNECT;
    json_decref(facts);
    session_close(&s);
    return status;
}

const struct command DOCTOR = {
    .name = "doctor",
    .arguments = "",
    .summary = "say what is wrong with a server, and what to do about it",
    .text =
        "Looks twice at the server, a second apart, and at this machine where the server runs on\n"
        "it. Each finding has a name that stays, how bad it is (error: something does not work;\n"
        "warning: it may stop working; note: good to know), a sentence, figures, and what to\n"
        "do. docs/operations.md has the table of all findings. The exit status is 0 if there\n"
        "are none, or notes alone, 1 if there are others. What the server does not let us ask\n"
        "is named on standard error. With --json one object: findings, checks, not_asked.\n",
    .examples = "  ergon doctor\n"
                "  ergon doctor --for 10s\n"
                "  ergon doctor --json | jq -r '.findings[] | .severity + \" \" + .text'\n",
    .options = DOCTOR_OPTIONS,
    .options_size = sizeof(struct doctor_options),
    .defaults = &DOCTOR_DEFAULTS,
    .run = doctor,
};
