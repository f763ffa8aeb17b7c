/* What may stand in an argument or in the value of an option, by the names of command and option:
 * words that are written here, or a kind of name that the server, the contexts or nobody knows.
 * Constant tables, for any thread. */
#ifndef ERGON_CLI_COMPLETION_KINDS_H
#define ERGON_CLI_COMPLETION_KINDS_H

enum completion_kind {
    KIND_NONE, /* nobody knows */
    KIND_METHODS,
    KIND_QUEUES,
    KIND_TASKS,
    KIND_SEMS,
    KIND_BATCHES,
    KIND_ACTORS,        /* types, with a slash; behind one, names */
    KIND_ACTOR_TYPES,   /* without a slash */
    KIND_ACTOR_METHODS, /* of the actor that is the first argument */
    KIND_CRONS,
    KIND_WORKERS,
    KIND_CONNECTIONS,
    KIND_NODES,
    KIND_CONTEXTS,
    KIND_SHELLS,
    KIND_MODULES /* files: shared objects */
};

/* The value of an option, whichever command has it. */
enum completion_kind completion_kind_of_option(const char *option);

/* The argument number `position`, from 0, of a command: "task get". */
enum completion_kind completion_kind_of_argument(const char *command, int position);

/* The words that an option of `command` takes and no others, with a NULL behind them; "" stands for
 * the options that all commands have.  NULL: it takes what it is given. */
const char *const *completion_choices(const char *command, const char *option);

#endif
