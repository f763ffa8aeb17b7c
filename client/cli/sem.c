/* ergon sem: semaphores across machines, and a command that runs under one. */
#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/sem_run.h"
#include "client/cli/table.h"

#include <stdlib.h>
#include <string.h>

#include <ergon/client_sems.h>

enum { SEM_TIMEOUT_MS = 10 * 1000 };

/* ---- run ---- */

struct run_options {
    const char *on_lost, *durable;
    uint64_t permits, take, wait_ns, grace_ns;
};

static const struct option_spec RUN_OPTIONS[] = {
    {'p', "permits", "N", "how many it has, if there is no such semaphore yet", OPTION_NUMBER,
     offsetof(struct run_options, permits)},
    {'t', "take", "N", "permits that the command wants; 1", OPTION_NUMBER,
     offsetof(struct run_options, take)},
    {'w', "wait", "TIME", "for the permits; without it, as long as it takes", OPTION_DURATION,
     offsetof(struct run_options, wait_ns)},
    {0, "on-lost", "WHAT", "when the permits cannot be kept: kill the command, or warn; kill",
     OPTION_TEXT, offsetof(struct run_options, on_lost)},
    {0, "grace", "TIME", "for which the permits outlive a lost connection; 10s", OPTION_DURATION,
     offsetof(struct run_options, grace_ns)},
    {0, "durable", "LEVEL", "none: what is held does not outlive the server", OPTION_TEXT,
     offsetof(struct run_options, durable)},
    {0},
};

static const struct run_options RUN_DEFAULTS = {
    .take = 1, .on_lost = "kill", .wait_ns = UINT64_MAX, .grace_ns = UINT64_C(10000000000)};

static enum status run(const struct globals *g, const void *options, int argc, char **argv)
{
    const struct run_options *o = options;
    char **command = calloc((size_t)argc, sizeof *argv);
    struct sem_run_plan plan = {.name = argv[0],
                                .permits = o->permits,
                                .take = o->take,
                                .grace_ms = o->grace_ns / 1000000,
                                .wait_ns = o->wait_ns,
                                .durable = o->durable,
                                .warn = strcmp(o->on_lost, "warn") == 0,
                                .command = command};
    if (!plan.warn && strcmp(o->on_lost, "kill") != 0) {
        complain("option --on-lost: '%s' is neither kill nor warn", o->on_lost);
    } else if (plan.grace_ms < SEM_RUN_GRACE_MIN_MS) {
        complain("option --grace: at least %d s: the command is killed 1 s before it is over",
                 SEM_RUN_GRACE_MIN_MS / 1000);
    } else if (command == NULL) {
        complain_as("MEMORY", NULL, "out of memory");
    } else {
        memcpy(command, argv + 1, (size_t)(argc - 1) * sizeof *argv);
        int status = sem_run(g, &plan);
        free(command);
        return (enum status)status;
    }
    free(command);
    return STATUS_USAGE;
}

static const struct command SEM_RUN = {
    .name = "sem run",
    .arguments = "NAME [OPTION...] -- COMMAND [ARG...]",
    .summary = "run a command while permits of a semaphore are held",
    .text =
        "Waits for the permits, in order of arrival, runs the command, and gives them back. It\n"
        "finds the semaphore in ERGON_SEM, and in ERGON_FENCE a number that only grows: what it\n"
        "writes to can refuse an older one. The exit status is the command's, 128 and more for a\n"
        "signal, as in a shell.\n\n"
        "A connection that breaks is made again. If the permits cannot be kept, the command and\n"
        "all that it has started are killed 1 s before anybody else can have them; when this\n"
        "command is killed or stopped, too.\n\n"
        "The command keeps ERGON_TOKEN of the environment.\n",
    .examples = "  ergon sem run backup --permits 1 -- rsync -a /srv/ backup:/srv/\n"
                "  ergon sem run gpu --permits 4 --take 2 --wait 1h -- ./train.sh\n",
    .options = RUN_OPTIONS,
    .options_size = sizeof(struct run_options),
    .defaults = &RUN_DEFAULTS,
    .arguments_min = 2,
    .arguments_max = -1,
    .run = run,
};

/* ---- create ---- */

struct create_options {
    const char *durable;
};

static const struct option_spec CREATE_OPTIONS[] = {
    {0, "durable", "LEVEL", "none: what is held does not outlive the server", OPTION_TEXT,
     offsetof(struct create_options, durable)},
    {0},
};

static enum status show_created(const struct globals *g, json_t *answer)
{
    if (g->json)
        return STATUS_OK;
    print_text(json_text(answer, "name"));
    printf(": %" JSON_INTEGER_FORMAT " permits\n",
           json_integer_value(json_object_get(answer, "permits")));
    return STATUS_OK;
}

static enum status create(struct session *s, const void *options, int argc, char **argv)
{
    const struct create_options *o = options;
    char *end;
    unsigned long long permits = strtoull(argv[1], &end, 10);
    (void)argc;
    if (argv[1][0] < '0' || argv[1][0] > '9' || *end != 0 || permits == 0) {
        complain("'%s' is not a number of permits", argv[1]);
        return STATUS_USAGE;
    }
    return ask_and_show(s, ergon_request_sem_create(argv[0], permits, o->durable), show_created);
}

static const struct command SEM_CREATE = {
    .name = "sem create",
    .arguments = "NAME PERMITS",
    .summary = "make a semaphore, or give one another number of permits",
    .text =
        "It stays until ergon sem delete. Who holds permits keeps them: of fewer, the next are\n"
        "given when enough have come back.\n",
    .examples = "  ergon sem create gpu 4\n",
    .options = CREATE_OPTIONS,
    .options_size = sizeof(struct create_options),
    .arguments_min = 2,
    .arguments_max = 2,
    .talk = create,
    .timeout_ms = SEM_TIMEOUT_MS,
};

/* ---- delete ---- */

static enum status show_deleted(const struct globals *g, json_t *answer)
{
    if (json_is_true(answer))
        return STATUS_OK;
    if (!g->quiet)
        complain_as("NOT_FOUND", NULL,
                    "there is no such semaphore that was made by ergon sem create");
    return STATUS_NOT_FOUND;
}

static const struct command SEM_DELETE = {
    .name = "sem delete",
    .arguments = "NAME...",
    .summary = "take a semaphore away that sem create made",
    .text = "It goes when nobody holds it or waits for it.\n",
    .examples = "  ergon sem delete gpu\n",
    .arguments_min = 1,
    .arguments_max = -1,
    .ask_each = ergon_request_sem_delete,
    .show = show_deleted,
    .timeout_ms = SEM_TIMEOUT_MS,
};

/* ---- list, explain ---- */

static enum status show_list(const struct globals *g, json_t *answer)
{
    static const char *const columns[] = {"name", "tenant",  "permits", "free",
                                          "held", "waiting", NULL};
    if (g->json)
        return STATUS_OK;
    humanize(answer, now_ms());
    if (json_array_size(answer) > 0)
        table_print(answer, columns, 0, colour_wanted(g, stdout));
    else if (!g->quiet)
        notice("no semaphores");
    return STATUS_OK;
}

static const struct command SEM_LIST = {
    .name = "sem list",
    .arguments = "",
    .summary = "list the semaphores",
    .text = "Prints a table: permits and how many are free, how often clients hold some (held),\n"
            "and how many clients and tasks wait.\n",
    .examples = "  ergon sem list\n",
    .ask = ergon_request_sems,
    .show = show_list,
    .timeout_ms = SEM_TIMEOUT_MS,
    .repeats = true,
};

static void print_part(const struct globals *g, json_t *rows, const char *what,
                       const char *const *columns)
{
    if (json_array_size(rows) == 0)
        return;
    printf("\n%s:\n", what);
    table_print(rows, columns, 2, colour_wanted(g, stdout));
}

static enum status show_sem(const struct globals *g, json_t *answer)
{
    static const char *const holding[] = {"principal", "task",      "permits",  "fence", "since",
                                          "ends_ms",   "connected", "grace_ms", NULL};
    static const char *const waiting[] = {"principal", "task", "permits", "waited_ms", NULL};
    if (g->json)
        return STATUS_OK;
    json_t *holders = json_incref(json_object_get(answer, "holders"));
    json_t *waiters = json_incref(json_object_get(answer, "waiters"));
    json_object_del(answer, "holders");
    json_object_del(answer, "waiters");
    humanize(answer, now_ms());
    humanize(holders, now_ms());
    humanize(waiters, now_ms());
    object_print(answer, colour_wanted(g, stdout));
    print_part(g, holders, "Holders", holding);
    print_part(g, waiters, "Waiting, in order", waiting);
    json_decref(holders);
    json_decref(waiters);
    return STATUS_OK;
}

struct whose_options {
    const char *tenant;
};

static const struct option_spec WHOSE_OPTIONS[] = {
    {0, "tenant", "NAME", "whose it is; one's own", OPTION_TEXT,
     offsetof(struct whose_options, tenant)},
    {0},
};

static enum status explain(struct session *s, const void *options, int argc, char **argv)
{
    const struct whose_options *o = options;
    enum status status = STATUS_OK;
    for (int i = 0; i < argc; i++) {
        enum status one =
            ask_and_show(s,
                         o->tenant != NULL ? ergon_request_sem_explain_of(argv[i], o->tenant)
                                           : ergon_request_sem_explain(argv[i]),
                         show_sem);
        if (status == STATUS_OK)
            status = one;
    }
    return status;
}

static const struct command SEM_EXPLAIN = {
    .name = "sem explain",
    .arguments = "NAME...",
    .summary = "who holds a semaphore, and who waits for it",
    .text =
        "Shows the holders, tasks among them, with their fences and since when; and who waits,\n"
        "in order.\n",
    .examples = "  ergon sem explain gpu\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 1,
    .arguments_max = -1,
    .talk = explain,
    .timeout_ms = SEM_TIMEOUT_MS,
};

/* ---- revoke ---- */

static enum status show_revoked(const struct globals *g, json_t *answer)
{
    json_int_t permits = json_integer_value(json_object_get(answer, "permits"));
    if (!g->json && !g->quiet)
        say("%" JSON_INTEGER_FORMAT " permit%s of %s taken back\n", permits,
            permits == 1 ? "" : "s", json_text(answer, "principal"));
    return STATUS_OK;
}

static enum status revoke(struct session *s, const void *options, int argc, char **argv)
{
    const struct whose_options *o = options;
    enum status status = STATUS_OK;
    for (int i = 1; i < argc && status == STATUS_OK; i++) {
        char *end;
        unsigned long long fence = strtoull(argv[i], &end, 10);
        if (argv[i][0] < '0' || argv[i][0] > '9' || *end != 0) {
            complain("'%s' is no fence: ergon sem explain %s tells it of each holder", argv[i],
                     argv[0]);
            return STATUS_USAGE;
        }
        status = ask_and_show(s, ergon_request_sem_revoke(argv[0], fence, o->tenant), show_revoked);
    }
    return status;
}

static const struct command SEM_REVOKE = {
    .name = "sem revoke",
    .arguments = "NAME FENCE...",
    .summary = "take permits back from a client that is lost or stuck",
    .text =
        "Whoever waits gets them at once. The client is not stopped: it learns of it when it next\n"
        "renews or releases, and until then only the fence keeps it off what the permits guard.\n"
        "ergon sem explain tells the fence of each holder. What a task holds goes by ergon task\n"
        "cancel. It is written into the audit log.\n",
    .examples = "  ergon sem explain gpu\n"
                "  ergon sem revoke gpu 218377001938221\n",
    .options = WHOSE_OPTIONS,
    .options_size = sizeof(struct whose_options),
    .arguments_min = 2,
    .arguments_max = -1,
    .talk = revoke,
    .timeout_ms = SEM_TIMEOUT_MS,
};

static const struct command *const PARTS[] = {&SEM_RUN,     &SEM_CREATE, &SEM_DELETE, &SEM_LIST,
                                              &SEM_EXPLAIN, &SEM_REVOKE, NULL};

const struct command SEM = {
    .name = "sem",
    .summary = "semaphores across machines, as a lock for commands",
    .text = "A semaphore has permits, which commands, programs and tasks (--limit) hold. Its name\n"
            "is the tenant's own.\n",
    .examples = "  ergon sem run backup --permits 1 -- ./backup.sh\n"
                "  ergon sem explain backup\n",
    .parts = PARTS,
};
