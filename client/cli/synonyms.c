#include "client/cli/synonyms.h"

#include "client/cli/cli.h"

/* A row for words with the same meaning.  tests/lint/commands_test.py reads all three tables. */
struct synonym {
    const char *group; /* "*": every one; of an option: none */
    const char *words; /* with a blank between two */
    const char *meant;
};

/* Only where the word can mean nothing else: the command is run without a question. */
static const struct synonym ALIASES[] = {
    {"", "status stats", "info"}, {"", "result", "task get --result"},
    {"task", "show", "get"},      {"task", "rm", "forget"},
    {"*", "ls", "list"},          {"*", "rm", "delete"},
};

static const struct synonym LIKELY[] = {
    {"", "add enqueue push put publish send produce new create", "'task submit'"},
    {"", "run exec invoke request rpc", "'call', 'task submit' or 'worker'"},
    {"", "tasks jobs job ls find search", "'task list'"},
    {"", "list", "'task list', 'queue list' or 'worker list'"},
    {"", "ps active running busy", "'task list --state running' or 'worker list'"},
    {"", "dead dlq deadset morgue", "'task list --state dead'"},
    {"", "failed failures", "'task list --state failed' or 'task list --state dead'"},
    {"", "scheduled delayed", "'task list --state delayed'"},
    {"", "show describe view inspect", "'task get' or 'info'"},
    {"", "results", "'task get --result'"},
    {"", "rm delete remove del", "'task forget'"},
    {"", "purge flush flushall clear", "'task cancel' or 'task forget'"},
    {"", "kill abort revoke terminate stop", "'task cancel' or 'connection kill'"},
    {"", "requeue rerun restart kick", "'task retry' or 'task run-now'"},
    {"", "logs log tail monitor stream subscribe history", "'events' or 'task get --history'"},
    {"", "follow", "'task watch'"},
    {"", "queues tubes topics llen", "'queue list'"},
    {"", "workers consumers", "'worker list'"},
    {"", "serve consume consumer listen work reserve", "'worker'"},
    {"", "connections clients conns", "'connection list'"},
    {"", "crons crontab beat periodic schedule scheduler timer timers", "'cron list'"},
    {"", "lock locks mutex semaphore semaphores limiter", "'sem run' or 'sem list'"},
    {"", "registered functions handlers commands", "'methods'"},
    {"", "health healthcheck check diagnose", "'doctor' or 'ping'"},
    {"", "dashboard ui web htop flower", "'top'"},
    {"", "metrics stat memory", "'info' or 'top'"},
    {"", "config configure login auth", "'context set'"},
    {"", "who me user", "'whoami'"},
    {"", "tokens passwd password", "'token'"},
    {"", "benchmark perf loadtest", "'bench'"},
    {"", "save bgsave", "'store backup'"},
    {"task", "add create delay enqueue new push put send start", "'task submit'"},
    {"task", "run", "'task submit' or 'task run-now'"},
    {"task", "describe info inspect peek status view", "'task get'"},
    {"task", "history", "'task get --history'"},
    {"task", "output result", "'task get --result'"},
    {"task", "find ps query search", "'task list'"},
    {"task", "del delete purge remove clear", "'task forget'"},
    {"task", "abort kill revoke stop terminate", "'task cancel'"},
    {"task", "requeue rerun restart", "'task retry'"},
    {"task", "clone copy duplicate resubmit", "'task edit'"},
    {"task", "follow log logs tail", "'task watch'"},
    {"task", "kick now promote", "'task run-now'"},
    {"task", "priority reprioritize reschedule set update", "'task change'"},
    {"task", "why", "'task explain'"},
    {"queue", "describe get info inspect show why", "'queue explain'"},
    {"queue", "stats status", "'queue list'"},
    {"queue", "disable stop", "'queue pause'"},
    {"queue", "continue enable start unpause", "'queue resume'"},
    {"queue", "clear delete empty flush purge rm",
     "'task cancel --method' or 'task forget --method'"},
    {"worker", "ps stats status", "'worker list'"},
    {"worker", "drain pause stop", "'worker quiet'"},
    {"worker", "continue start unpause", "'worker resume'"},
    {"cron", "add create new schedule set", "'cron put'"},
    {"cron", "fire kick now trigger", "'cron run'"},
    {"cron", "get info show status", "'cron list'"},
    {"cron", "del remove", "'cron delete'"},
    {"cron", "disable stop", "'cron pause'"},
    {"cron", "enable start unpause", "'cron resume'"},
    {"actor", "send cast", "'actor tell'"},
    {"actor", "ask request", "'actor call'"},
    {"actor", "show state status", "'actor get'"},
    {"actor", "delete kill remove", "'actor drop'"},
    {"actor", "pause suspend", "'actor stop'"},
    {"actor", "continue resume", "'actor start'"},
    {"batch", "new", "'batch create'"},
    {"batch", "end finish seal", "'batch close'"},
    {"batch", "show info status", "'batch get'"},
    {"sem", "add new", "'sem create'"},
    {"sem", "acquire lock take with", "'sem run'"},
    {"sem", "release unlock", "'sem revoke'"},
    {"sem", "get info show status", "'sem explain'"},
    {"sem", "del remove", "'sem delete'"},
    {"connection", "close disconnect drop rm stop", "'connection kill'"},
    {"context", "add create edit new", "'context set'"},
    {"context", "current get", "'context show'"},
    {"context", "select switch", "'context use'"},
    {"context", "del remove", "'context delete'"},
    {"context", "mv", "'context rename'"},
    {"event", "fire publish send signal trigger", "'event set'"},
    {"event", "list listen subscribe watch", "'event wait'"},
    {"store", "fsck verify", "'store check'"},
    {"store", "dump", "'store export'"},
    {"store", "load restore", "'store import'"},
    {"store", "copy save", "'store backup'"},
};

/* Several rows of a word: the first whose option the command has. */
static const struct synonym OPTIONS[] = {
    {NULL, "host address addr url uri connect broker socket port p H h", "server"},
    {NULL, "token password pass user auth a", "token-file"},
    {NULL, "ca ca-cert ca-file tls-ca", "cacert"},
    {NULL, "tls ssl", "server"},
    {NULL, "k no-verify skip-verify", "insecure"},
    {NULL, "format", "output"},
    {NULL, "yaml wide", "output"},
    {NULL, "debug d", "verbose"},
    {NULL, "silent", "quiet"},
    {NULL, "no-colour", "no-color"},
    {NULL, "headers", "no-headers"},
    {NULL, "concurrency threads processes workers c j", "slots"},
    {NULL, "queue queues name function task type t f", "method"},
    {NULL, "queue Q topic", "method"},
    {NULL, "max-retries retry attempts max-attempts max_retries", "retries"},
    {NULL, "countdown in after-time", "delay"},
    {NULL, "eta", "at"},
    {NULL, "timeout time-limit ttr", "attempt-timeout"},
    {NULL, "expires ttl", "deadline"},
    {NULL, "expires ttl retention result-ttl", "keep"},
    {NULL, "prio", "priority"},
    {NULL, "key id unique dedup idempotency-key task-id", "task-key"},
    {NULL, "depends depends-on", "after"},
    {NULL, "running", "state running"},
    {NULL, "failed", "state failed"},
    {NULL, "dead", "state dead"},
    {NULL, "status", "state"},
    {NULL, "since", "newer"},
    {NULL, "until before", "older"},
    {NULL, "max count first head l N", "limit"},
    {NULL, "follow f interval w", "watch"},
    {NULL, "sync block wait-for", "wait"},
};

static bool holds(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; len > 0 && (at = strstr(at, word)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == 0))
            return true;
    return false;
}

static bool is_of(const struct synonym *s, const char *group)
{
    return strcmp(s->group, group) == 0 || (s->group[0] == '*' && group[0] != 0);
}

const char *synonym_alias(const char *group, const char *word)
{
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++)
        if (is_of(&ALIASES[i], group) && holds(ALIASES[i].words, word))
            return ALIASES[i].meant;
    return NULL;
}

const char *synonym_likely(const char *group, const char *word)
{
    for (size_t i = 0; i < sizeof LIKELY / sizeof *LIKELY; i++)
        if (is_of(&LIKELY[i], group) && holds(LIKELY[i].words, word))
            return LIKELY[i].meant;
    return NULL;
}

const char *synonym_option(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof *OPTIONS; i++)
        if (holds(OPTIONS[i].words, name) && n-- == 0)
            return OPTIONS[i].meant;
    return NULL;
}

const struct command *command_called(const struct command *const *commands,
                                     const struct command *group, const char *word)
{
    const char *alias = synonym_alias(group != NULL ? group->name : "", word);
    for (const struct command *const *c = commands; *c != NULL; c++)
        if (strcmp(command_word(*c), word) == 0 ||
            (alias != NULL && strcmp(command_word(*c), alias) == 0))
            return *c;
    return NULL;
}
