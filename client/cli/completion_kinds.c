#include "client/cli/completion_kinds.h"

#include <stddef.h>
#include <string.h>

enum completion_kind completion_kind_of_option(const char *option)
{
    static const struct {
        const char *name;
        enum completion_kind kind;
    } kinds[] = {
        {"method", KIND_METHODS},   {"context", KIND_CONTEXTS}, {"after", KIND_TASKS},
        {"after-any", KIND_TASKS},  {"task", KIND_TASKS},       {"actor", KIND_ACTORS},
        {"type", KIND_ACTOR_TYPES}, {"batch", KIND_BATCHES},    {"parent", KIND_BATCHES},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(option, kinds[i].name) == 0)
            return kinds[i].kind;
    return KIND_NONE;
}

const char *const *completion_choices(const char *command, const char *option)
{
    static const struct {
        const char *command; /* NULL: every one that has the option, or "" those of all commands */
        const char *option;
        const char *words[12];
    } choices[] = {
        {"", "output", {"table", "wide", "name", "json", "yaml"}},
        {"worker", "output", {"auto", "json", "bin"}},
        {"worker", "input", {"json", "raw", "args"}},
        {"worker", "on-lost", {"kill", "finish"}},
        {"worker", "durable", {"none", "fsync"}},
        {"worker", "actor", {NULL}}, /* a type, which may be a new one */
        {"sem run", "on-lost", {"kill", "warn"}},
        {NULL,
         "state",
         {"queued", "delayed", "waiting", "running", "parked", "done", "failed", "cancelled",
          "expired", "dead"}},
        {NULL, "stage", {"active", "sleeping", "stopped"}},
        {"actor list", "sort", {"waiting"}},
        {"actor call", "durable", {"none", "async", "fsync"}},
        {"actor tell", "durable", {"none", "async", "fsync"}},
        {"cron put", "overlap", {"skip", "allow", "replace"}},
        {"cron put", "catch-up", {"none", "one", "all"}},
        {"task submit", "durable", {"none", "async", "fsync", "replicated"}},
        {"task call", "durable", {"none", "async", "fsync", "replicated"}},
        {"task edit", "durable", {"none", "async", "fsync", "replicated"}},
        {"cron put", "durable", {"none", "async", "fsync", "replicated"}},
        {"doctor", "fail-on", {"error", "warning", "note", "never"}},
        {"bench", "arrivals", {"poisson", "fixed"}},
        {"bench", "handshake", {"full", "resumed"}},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strcmp(option, choices[i].option) == 0 &&
            (choices[i].command == NULL || strcmp(command, choices[i].command) == 0))
            return choices[i].words;
    return NULL;
}

static const struct {
    const char *command;
    enum completion_kind kind;
    int first, last; /* which arguments; -1: all behind */
} kinds[] = {
    {"call", KIND_METHODS, 0, 0},
    {"task submit", KIND_METHODS, 0, 0},
    {"task call", KIND_METHODS, 0, 0},
    {"cron put", KIND_METHODS, 2, 2},
    {"queue explain", KIND_QUEUES, 0, 0},
    {"queue pause", KIND_QUEUES, 0, -1},
    {"queue resume", KIND_QUEUES, 0, -1},
    {"queue drain", KIND_QUEUES, 0, -1},
    {"task get", KIND_TASKS, 0, 0},
    {"task watch", KIND_TASKS, 0, 0},
    {"task explain", KIND_TASKS, 0, 0},
    {"task edit", KIND_TASKS, 0, 0},
    {"task wait", KIND_TASKS, 0, -1},
    {"task cancel", KIND_TASKS, 0, -1},
    {"task retry", KIND_TASKS, 0, -1},
    {"task forget", KIND_TASKS, 0, -1},
    {"task change", KIND_TASKS, 0, -1},
    {"task run-now", KIND_TASKS, 0, -1},
    {"sem run", KIND_SEMS, 0, 0},
    {"sem explain", KIND_SEMS, 0, -1},
    {"sem delete", KIND_SEMS, 0, -1},
    {"sem revoke", KIND_SEMS, 0, 0},
    {"batch add", KIND_BATCHES, 0, 0},
    {"batch close", KIND_BATCHES, 0, -1},
    {"batch get", KIND_BATCHES, 0, -1},
    {"batch wait", KIND_BATCHES, 0, -1},
    {"batch cancel", KIND_BATCHES, 0, -1},
    {"actor call", KIND_ACTORS, 0, 0},
    {"actor call", KIND_ACTOR_METHODS, 1, 1},
    {"actor tell", KIND_ACTORS, 0, 0},
    {"actor tell", KIND_ACTOR_METHODS, 1, 1},
    {"actor get", KIND_ACTORS, 0, -1},
    {"actor list", KIND_ACTORS, 0, 0},
    {"actor watch", KIND_ACTORS, 0, 0},
    {"actor explain", KIND_ACTORS, 0, -1},
    {"actor start", KIND_ACTORS, 0, -1},
    {"actor stop", KIND_ACTORS, 0, -1},
    {"actor wake", KIND_ACTORS, 0, -1},
    {"actor drop", KIND_ACTORS, 0, -1},
    {"actor remind", KIND_ACTORS, 0, 0},
    {"actor remind", KIND_ACTOR_METHODS, 2, 2},
    {"actor forget", KIND_ACTORS, 0, 0},
    {"cron delete", KIND_CRONS, 0, -1},
    {"cron pause", KIND_CRONS, 0, -1},
    {"cron resume", KIND_CRONS, 0, -1},
    {"cron run", KIND_CRONS, 0, -1},
    {"worker quiet", KIND_WORKERS, 0, -1},
    {"worker resume", KIND_WORKERS, 0, -1},
    {"connection kill", KIND_CONNECTIONS, 0, -1},
    {"cluster drain", KIND_NODES, 0, 0},
    {"cluster forget", KIND_NODES, 0, 0},
    {"context use", KIND_CONTEXTS, 0, 0},
    {"context show", KIND_CONTEXTS, 0, 0},
    {"context set", KIND_CONTEXTS, 0, 0},
    {"context delete", KIND_CONTEXTS, 0, -1},
    {"context rename", KIND_CONTEXTS, 0, 0},
    {"completion", KIND_SHELLS, 0, 0},
    {"module check", KIND_MODULES, 0, 0},
};

enum completion_kind completion_kind_of_argument(const char *command, int position)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(command, kinds[i].command) == 0 && position >= kinds[i].first &&
            (kinds[i].last < 0 || position <= kinds[i].last))
            return kinds[i].kind;
    return KIND_NONE;
}
