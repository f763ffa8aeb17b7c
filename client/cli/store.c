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
    .summary = "check a store, and print what is damaged",
    .text = "Reads all of the file and of its log, and changes nothing. FILE may be the URL of\n"
            "a database, also while nodes use it: the check stops at the first damage. Exit\n"
            "status 0: sound; 1: damaged; 2: it cannot be read, or a server uses the file.\n",
    .examples = "  ergon store check /var/lib/ergon/tasks.db\n",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_check,
    .offline = true,
};

static const struct command EXPORT = {
    .name = "store export",
    .arguments = "FILE",
    .summary = "write a store as lines of JSON",
    .text = "Writes tasks with their results, histories, crons, queues and counters to standard\n"
            "output, and reports on standard error what cannot be read. A task whose end may be\n"
            "lost is written as dead, so that it does not run twice; ergon task retry runs it.\n"
            "FILE may be the URL of a database. Exit status 0: all was written; 1: a part; 2:\n"
            "nothing.\n",
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
    .summary = "make a store from such lines",
    .text = "Reads standard input, and imports all lines or none. FILE must not exist; or it is\n"
            "the URL of a database without rows, which no node owns ('ergon cluster init').\n"
            "Exit status 1: a line was refused, whose number is printed; 2: the store cannot\n"
            "be made.\n",
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
    .text = "The copy is one file with all that was committed when the command began. It is\n"
            "checked before it gets its name: after a kill or a power cut it is whole, or not\n"
            "there (COPY.part may be left, and the next backup removes it). COPY must not\n"
            "exist. Only the server's user and root may read the file. Exit status 0: copied;\n"
            "1: the file is damaged; 2: nothing was done.\n",
    .examples = "  ergon store backup /var/lib/ergon/tasks.db /backup/tasks-$(date +%F).db\n",
    .arguments_min = 2,
    .arguments_max = 2,
    .run = run_backup,
    .offline = true,
};

static const struct command *const PARTS[] = {&BACKUP, &CHECK, &EXPORT, &IMPORT, NULL};

const struct command STORE = {
    .name = "store",
    .summary = "copy or check a store, write it as JSON, make one from JSON",
    .text = "A store has the submitted tasks: a file, which no server may use meanwhile but for\n"
            "backup, or a database. ergond, which reads it, must be installed here, too.\n",
    .examples = "  ergon store backup tasks.db copy.db\n"
                "  ergon store check tasks.db\n"
                "  ergon store export tasks.db > tasks.jsonl\n"
                "  ergon store import new.db < tasks.jsonl\n",
    .parts = PARTS,
};
