/* Reads configuration keys from the command line of ergond, and prints its help. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "server/config/sources.h"

/* Flags that are no keys; the values of struct option follow those of the keys. */
enum {
    FLAG_CONFIG = 'c',
    FLAG_HELP = 'h',
    FLAG_VERSION = 'V',
    FLAG_CHECK = 256,
    FLAG_PRINT,
    FLAG_CHECK_STORE,
    FLAG_EXPORT_STORE,
    FLAG_IMPORT_STORE,
    FLAG_BACKUP_STORE,
    FLAG_BACKUP_TO,
    FLAG_CLUSTER_ADMIN,
    FLAG_CLUSTER_ROLE,
    FLAG_CLUSTER_IMPORT,
    FLAG_KEY
};

static const struct option own[] = {
    {"config", required_argument, NULL, FLAG_CONFIG},
    {"check-config", no_argument, NULL, FLAG_CHECK},
    {"print-config", no_argument, NULL, FLAG_PRINT},
    {"check-store", required_argument, NULL, FLAG_CHECK_STORE},
    {"export-store", required_argument, NULL, FLAG_EXPORT_STORE},
    {"import-store", required_argument, NULL, FLAG_IMPORT_STORE},
    {"backup-store", required_argument, NULL, FLAG_BACKUP_STORE},
    {"backup-to", required_argument, NULL, FLAG_BACKUP_TO},
    {"cluster-admin", required_argument, NULL, FLAG_CLUSTER_ADMIN},
    {"cluster-role", required_argument, NULL, FLAG_CLUSTER_ROLE},
    {"cluster-import", required_argument, NULL, FLAG_CLUSTER_IMPORT},
    {"help", no_argument, NULL, FLAG_HELP},
    {"version", no_argument, NULL, FLAG_VERSION},
};

enum { OWN = sizeof own / sizeof *own };

static bool is_flag(const struct config_key *key)
{
    return key->name && key->type != &config_secret;
}

/* All flags for getopt_long(), to be freed; NULL: out of memory. */
static struct option *all_options(void)
{
    struct option *all = calloc(OWN + config_keys.count + 1, sizeof *all);
    size_t n = OWN;

    if (!all)
        return NULL;
    memcpy(all, own, sizeof own);
    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (is_flag(key))
            all[n++] = (struct option){
                key->name, key->type == &config_bool ? optional_argument : required_argument, NULL,
                FLAG_KEY + (int)i};
    }
    return all;
}

static void take_flag(struct config_report *r, struct config *c, size_t i, const char *value)
{
    static const struct config_origin from_flag = {.source = CONFIG_FLAG};
    const struct config_key *key = &config_keys.keys[i];
    struct config_target t = config_top(c);

    config_take(r, &t, key, value ? value : "true", key->path, &from_flag);
}

static void take_store(struct config_request *request, enum config_action action, const char *value)
{
    request->action = action;
    request->store = value;
}

static void take_verb(struct config_request *request, const char *value)
{
    request->action = CONFIG_ADMINISTER;
    request->verb = value;
}

static void take_own(struct config_request *request, int flag, const char *value)
{
    if (flag == FLAG_CLUSTER_ADMIN)
        take_verb(request, value);
    else if (flag == FLAG_CLUSTER_ROLE)
        request->grant = value;
    else if (flag == FLAG_CLUSTER_IMPORT)
        request->copy = value;
    else if (flag == FLAG_CHECK_STORE)
        take_store(request, CONFIG_CHECK_STORE, value);
    else if (flag == FLAG_EXPORT_STORE)
        take_store(request, CONFIG_EXPORT_STORE, value);
    else if (flag == FLAG_IMPORT_STORE)
        take_store(request, CONFIG_IMPORT_STORE, value);
    else if (flag == FLAG_BACKUP_STORE)
        take_store(request, CONFIG_BACKUP_STORE, value);
    else if (flag == FLAG_BACKUP_TO)
        request->copy = value;
    else if (flag == FLAG_CONFIG)
        request->file = value;
    else if (flag == FLAG_CHECK)
        request->action = CONFIG_CHECK;
    else if (flag == FLAG_PRINT)
        request->action = CONFIG_PRINT;
    else
        request->action = flag == FLAG_HELP ? CONFIG_HELP : CONFIG_VERSION;
}

/* More than a third wrong is no likeness. */
static struct suggestion nearest(const char *word, const struct option *all)
{
    const char *name = word + strspn(word, "-");
    size_t len = strcspn(name, "=");
    struct suggestion near = suggest_for(span_of(name, len), len / 3 + 1);

    for (; all->name != NULL; all++)
        suggest_offer(&near, span_text(all->name));
    return near;
}

static void usage_problem(struct config_report *r, int kind, const char *word,
                          const struct option *all)
{
    struct config_origin none = {0};
    struct suggestion near = kind == ':' ? (struct suggestion){0} : nearest(word, all);

    if (kind == ':')
        config_problem(r, &none, NULL, NULL, "%s: needs a value (%s=VALUE)", word, word);
    else if (near.name.len > 0)
        config_problem(r, &none, NULL, NULL, "%s: no such flag; did you mean --%.*s?", word,
                       (int)near.name.len, (const char *)near.name.at);
    else
        config_problem(r, &none, NULL, NULL, "%s: no such flag (see --help)", word);
}

/* getopt's state is global: a scan begins anew with optind 0, and it reorders argv, whose order
 * among flags stays the same. */
static void scan(struct config_report *r, struct config *c, int argc, char *const *argv,
                 const struct option *all, struct config_request *request)
{
    int flag;

    optind = 0;
    opterr = 0;
    while ((flag = getopt_long(argc, argv, ":c:hV", all, NULL)) != -1) {
        if (flag == '?' || flag == ':') {
            if (request)
                usage_problem(r, flag, argv[optind - 1], all);
        } else if (flag >= FLAG_KEY) {
            if (c)
                take_flag(r, c, (size_t)(flag - FLAG_KEY), optarg);
        } else if (request) {
            take_own(request, flag, optarg);
        }
    }
    for (; request && optind < argc; optind++)
        config_problem(r, &(struct config_origin){0}, NULL, NULL,
                       "%s: a word that belongs to no flag (see --help)", argv[optind]);
}

void config_read_flags(struct config_report *r, struct config *c, int argc, char *const *argv,
                       struct config_request *request)
{
    struct option *all = all_options();

    if (!all) {
        r->no_memory = true;
        return;
    }
    scan(r, c, argc, argv, all, request);
    free(all);
}

/* ---- --help ---- */

enum { HELP_COLUMN = 39, HELP_WIDTH = 100, HELP_TEXT_MAX = 512 };

static void put_text(const struct config_key *key, FILE *out)
{
    fputs(key->help, out);
    for (size_t i = 0; key->type == &config_word && key->words[i]; i++)
        fprintf(out, "%s%s", i ? ", " : ": ", key->words[i]);
    if (key->normal && (key->type != &config_bool || strcmp(key->normal, "true") == 0))
        fprintf(out, " (%s)", key->normal);
    fputs(config_is_list(key) ? "; may be repeated" : "", out);
}

/* Lines of whole words, in the right column. */
static void put_wrapped(const char *text, FILE *out)
{
    const int width = HELP_WIDTH - HELP_COLUMN;

    while ((int)strlen(text) > width) {
        int length = width;
        while (text[length] != ' ' && length > 1)
            length--;
        fprintf(out, "%.*s\n%*s", length, text, HELP_COLUMN, "");
        text += length + 1;
    }
    fprintf(out, "%s\n", text);
}

static void help_key(const struct config_key *key, FILE *out)
{
    char flag[64], text[HELP_TEXT_MAX];
    FILE *into = fmemopen(text, sizeof text, "w");

    if (into == NULL)
        return; /* out of memory */
    put_text(key, into);
    fclose(into);
    snprintf(flag, sizeof flag, "--%s%s", key->name, key->type->argument);
    fprintf(out, "  %-*s ", HELP_COLUMN - 3, flag);
    put_wrapped(text, out);
}

static void help_keys(FILE *out)
{
    for (size_t i = 0; i < config_keys.count; i++) {
        const struct config_key *key = &config_keys.keys[i];
        if (key->heading)
            fprintf(out, "\n%s:\n", key->heading);
        if (is_flag(key))
            help_key(key, out);
    }
}

void config_help(FILE *out)
{
    fputs(
        "Usage: ergond [--config FILE] [FLAG]...\n\n"
        "  -c, --config FILE                    YAML file with the same keys, and more\n"
        "      --check-config                   check the configuration, and exit: 0 valid, 2 not\n"
        "      --print-config                   print the values in force and their sources\n"
        "      --check-store FILE               check a store, and exit: 0 sound, 1 damaged, 2 "
        "unreadable\n"
        "      --export-store FILE              write a store as lines of JSON\n"
        "      --import-store FILE              make a store from such lines of standard input\n"
        "      --backup-store FILE              copy a store, also while a server uses it\n"
        "      --backup-to COPY                 to this file, which must not exist\n"
        "      --cluster-admin VERB             init, upgrade, upgrade-check, upgrade-finish, "
        "look or\n"
        "                                       look-json the database of --store, and exit\n"
        "      --cluster-role ROLE              grant this database role what nodes need\n"
        "      --cluster-import FILE            with init: fill the tables from this store or "
        "export\n"
        "  -h, --help                           this text\n"
        "  -V, --version                        the version\n",
        out);
    help_keys(out);
    fputs("\nTimes and sizes need a unit: 500ms, 8s, 64k, 16m.  Each flag has a variable: "
          "--log-level is\n"
          "ERGON_LOG_LEVEL; lists take commas.  Flags come before variables, these before the "
          "file.\n",
          out);
}
