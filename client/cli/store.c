/* ergon store: a store's file.
 *
 * The file is the server's, and of the version of the server beside us: ergond itself reads and
 * writes it, in place of this process. */
#include "client/cli/become.h"
#include "client/cli/cli.h"

/* `copy` may be NULL. */
static enum status become_server(const char *flag, const char *file, const char *copy)
{
    char *const argv[] = {(char *)"ergond", (char *)flag,
                          (char *)file,     copy ? (char *)"--backup-to" : NULL,
                          (char *)copy,     NULL};
    return become(argv, "which reads the file", "install the server here, or go to where it is");
}

static enum status run_check(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
    return become_server("--check-store", argv[0], NULL);
}

static enum status run_export(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
    return become_server("--export-store", argv[0], NULL);
}

static enum status run_import(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
    return become_server("--import-store", argv[0], NULL);
}

static enum status run_backup(const struct globals *g, const void *options, int argc, char **argv)
{
    (void)g;
    (void)options;
    (void)argc;
    return become_server("--backup-store", argv[0], argv[1]);
}

static const struct command CHECK = {
    .name = "store check",
    .arguments = "FILE",
    .summary = "say what is damaged in a store's file",
    .text = "Reads all of the file and of its log, and changes nothing. FILE may be the URL of\n"
            "a database: its first damage is said, also while nodes use it. Exit status 0: it\n"
            "is sound; 1: it is damaged; 2: it cannot be read, or a server uses it.\n",
    .examples = "  ergon store check /var/lib/ergon/tasks.db\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_check,
    .offline = true,
};

static const struct command EXPORT = {
    .name = "store export",
    .arguments = "FILE",
    .summary = "write all that can be read of a store's file as lines of JSON",
    .text = "Tasks with their results, histories, crons, queues and counters, to standard\n"
            "output. What cannot be read is said on standard error. A task whose end may be\n"
            "lost is written as one that is dead, so that it does not run twice; ergon task\n"
            "retry runs it. FILE may be the URL of a database. Exit status 0: all; 1: what\n"
            "could be read; 2: nothing.\n",
    .examples = "  ergon store export tasks.db > tasks.jsonl\n"
                "  ergon store export tasks.db | ergon store import new.db\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_export,
    .offline = true,
};

static const struct command IMPORT = {
    .name = "store import",
    .arguments = "FILE",
    .summary = "make a store's file of such lines",
    .text = "Reads standard input. The file must not be there; or it is the URL of a database\n"
            "that has no rows, and that no node owns ('ergon cluster init'). All lines are\n"
            "taken, or none: exit status 1 is a line that was refused, with its number; 2:\n"
            "the file cannot be made.\n",
    .examples = "  ergon store import new.db < tasks.jsonl\n"
                "  ergon store export tasks.db | ergon store import postgresql:///tasks\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_import,
    .offline = true,
};

static const struct command BACKUP = {
    .name = "store backup",
    .arguments = "FILE COPY",
    .summary = "copy a store's file, also while a server uses it",
    .text = "The copy has all that was committed when this began, is one file, and is looked\n"
            "through before it gets its name: after a kill or a power cut it is there as a\n"
            "whole, or not at all (COPY.part may be left, and the next one removes it). COPY\n"
            "must not be there. Whoever may read the file may do this, as the server's user\n"
            "and root. Exit status 0: it is made; 1: the file is damaged; 2: nothing could be\n"
            "done.\n",
    .examples = "  ergon store backup /var/lib/ergon/tasks.db /backup/tasks-$(date +%F).db\n",
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run_backup,
    .offline = true,
};

static const struct command *const PARTS[] = {&BACKUP, &CHECK, &EXPORT, &IMPORT, NULL};

const struct command STORE = {
    .name = "store",
    .summary = "copy a store's file, check it, write it as JSON, make one of JSON",
    .text = "The file of submitted tasks; all but backup while no server uses it. ergond, which\n"
            "reads it, must be installed here, too.\n",
    .examples = "  ergon store backup tasks.db copy.db\n"
                "  ergon store check tasks.db\n"
                "  ergon store export tasks.db > tasks.jsonl\n"
                "  ergon store import new.db < tasks.jsonl\n",
    .parts = PARTS,
};
