/* ergon doctor: what is wrong with a server, and what to do about it. */
#include "client/cli/doctor/checks.h"
#include "client/cli/doctor/gather.h"
#include "client/cli/doctor/reach.h"
#include "client/cli/doctor/report.h"

enum { DOCTOR_CONNECT_MS = 10 * 1000 };
static const double NS_A_DAY = 86400e9;

struct doctor_options {
    uint64_t between_ns, backup_ns; /* backup_ns 0: as the check has it */
    struct option_list only, ignore;
    const char *fail_on;
    bool remote, plugin, list;
};

static const struct option_spec DOCTOR_OPTIONS[] = {
    {0, "for", "TIME", "between the two looks at what grows; 1s", OPTION_DURATION,
     offsetof(struct doctor_options, between_ns)},
    {0, "remote", NULL, "look at the server alone, not at this machine if it is the server's",
     OPTION_FLAG, offsetof(struct doctor_options, remote)},
    {0, "only", "NAME", "these findings alone; NAME,NAME, and several times", OPTION_LIST,
     offsetof(struct doctor_options, only)},
    {0, "ignore", "NAME", "not these findings; likewise", OPTION_LIST,
     offsetof(struct doctor_options, ignore)},
    {0, "fail-on", "SEVERITY",
     "the least that is trouble: error, warning (as without), note, never", OPTION_TEXT,
     offsetof(struct doctor_options, fail_on)},
    {0, "backup-age", "TIME", "how old a backup of the store may be; 8d", OPTION_DURATION,
     offsetof(struct doctor_options, backup_ns)},
    {0, "nagios", NULL, "one line with figures, and a plug-in's exit status: 0, 1, 2 or 3",
     OPTION_FLAG, offsetof(struct doctor_options, plugin)},
    {0, "list", NULL, "show all findings that there are, and ask no server", OPTION_FLAG,
     offsetof(struct doctor_options, list)},
    {0},
};

static const struct doctor_options DOCTOR_DEFAULTS = {.between_ns = UINT64_C(1000000000)};

/* Who may not even ask for server.info has seen nothing. */
static bool has_looked(const json_t *facts)
{
    return json_object_get(facts, "info") != NULL;
}

/* Silence is a finding of its own. */
static enum status looked_at(const json_t *facts, const json_t *findings)
{
    return has_looked(facts) || severity_worst(findings) >= SEVERITY_WARNING ? STATUS_OK
                                                                             : STATUS_AUTH;
}

static enum status report(const struct globals *g, const struct doctor_options *o,
                          const struct choice *choice, json_t *facts, enum status reached)
{
    json_t *all = checks_run(facts);
    struct report r = {.choice = choice,
                       .findings = choice_of(choice, all),
                       .not_asked = json_object_get(facts, "not_asked"),
                       .looked = reached != STATUS_OK ? reached : looked_at(facts, all)};
    enum status status = o->plugin ? report_print_plugin(&r) : report_print(g, &r);
    json_decref(r.findings);
    json_decref(all);
    return status;
}

static enum status examine(const struct globals *g, const struct doctor_options *o,
                           const struct choice *choice)
{
    struct session s;
    char why[512] = "";
    enum status reached = STATUS_OK;
    json_t *facts = NULL;
    enum ergon_end outcome = session_connect(&s, g, DOCTOR_CONNECT_MS, false, why, sizeof why);
    if (outcome == ERGON_END_OK) {
        facts = facts_gather(&s, o->between_ns, !o->remote);
        session_close(&s);
    } else if (outcome == ERGON_END_INVALID) {
        complain("%s: %s", g->server, why);
        return STATUS_USAGE;
    } else {
        facts = facts_without(g->server, outcome, why);
        reached = status_of(outcome, "");
    }
    if (facts == NULL) {
        facts = facts_without(g->server, ERGON_END_BROKEN, "the connection has ended");
        reached = STATUS_CONNECT;
    }
    if (o->backup_ns > 0)
        json_object_set_new(facts, "backup_days", json_real((double)o->backup_ns / NS_A_DAY));
    enum status status = report(g, o, choice, facts, reached);
    json_decref(facts);
    return status;
}

static enum status doctor(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct doctor_options *o = options;
    struct choice choice;
    char why[256];
    (void)argc;
    (void)argv;
    if (!choice_read(&choice, &o->only, &o->ignore, o->fail_on, why, sizeof why)) {
        complain("%s", why);
        return STATUS_USAGE;
    }
    return o->list ? report_checks(g) : examine(g, o, &choice);
}

const struct command DOCTOR = {
    .name = "doctor",
    .arguments = "",
    .summary = "say what is wrong with a server, and what to do about it",
    .text =
        "Looks twice at the server, a second apart, and at this machine where the server runs on\n"
        "it. Each finding has a name that stays, how bad it is (error: something does not work;\n"
        "warning: it may stop working; note: good to know), a sentence, figures, and what to\n"
        "do. docs/troubleshooting.md lists all findings. The exit status is 0 if there\n"
        "are none, or notes alone, 1 if there are others (see --fail-on), 3 if there is no\n"
        "connection, 4 if the server does not let us look. What it does not let us ask is named\n"
        "on standard error. With --json one object: findings, worst, checks, not_asked.\n",
    .examples = "  ergon doctor\n"
                "  ergon doctor --for 10s --ignore tasks_dead,queue_paused\n"
                "  ergon doctor --nagios --fail-on error\n"
                "  ergon doctor --json | jq -r '.findings[] | .severity + \" \" + .text'\n",
    .options = DOCTOR_OPTIONS,
    .options_size = sizeof(struct doctor_options),
    .defaults = &DOCTOR_DEFAULTS,
    .run = doctor,
};
