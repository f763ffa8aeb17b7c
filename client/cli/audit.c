/* ergon audit: do the accounts of the server balance? */
#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

enum { AUDIT_TIMEOUT_MS = 60 * 1000 };

static void add_row(json_t *rows, const char *name, json_t *account)
{
    if (json_is_object(account)) {
        json_object_set_new(account, "of", json_string(name));
        json_array_append(rows, account);
    }
}

static void print_accounts(const struct globals *g, json_t *audit)
{
    static const char *const names[] = {"kept", "fleeting", "store", NULL};
    static const char *const first[] = {"of",      "submitted", "done", "failed", "cancelled",
                                        "expired", "dead",      "open", NULL};
    json_t *rows = json_array();
    for (const char *const *name = names; *name != NULL; name++)
        add_row(rows, *name, json_object_get(audit, *name));
    table_print(rows, first, 0, colour_wanted(g, stdout));
    json_decref(rows);
}

static enum status show_audit(const struct globals *g, json_t *audit)
{
    const json_t *verdict = json_object_get(audit, "balanced");
    const char *store_error = json_string_value(json_object_get(audit, "store_error"));
    bool balanced = json_is_true(verdict);
    enum status status = balanced ? STATUS_OK : STATUS_REMOTE;
    size_t i;
    json_t *text;
    if (g->json)
        return status;
    print_accounts(g, audit);
    json_array_foreach(json_object_get(audit, "differences"), i, text)
    {
        fputs("difference: ", stdout);
        print_text(json_is_string(text) ? json_string_value(text) : "?");
        putchar('\n');
    }
    if (store_error != NULL) {
        fputs("the store could not be asked: ", stdout);
        print_text(store_error);
        putchar('\n');
    }
    puts(balanced                ? "balanced"
         : json_is_null(verdict) ? "not known whether all is balanced"
                                 : "not balanced");
    return status;
}

const struct command AUDIT = {
    .name = "audit",
    .arguments = "",
    .summary = "check that no task was lost: the accounts must balance",
    .text = "Submitted = done + failed + cancelled + expired + dead + open: of the durable tasks\n"
            "across restarts (kept), of the others since the start (fleeting), and in the rows of\n"
            "the store. Exit status 1: they do not, and the differences are named, or the store\n"
            "could not be asked.\n",
    .examples = "  ergon audit\n"
                "  ergon audit --json | jq .balanced\n",
    .ask = ergon_request_audit,
    .show = show_audit,
    .timeout_ms = AUDIT_TIMEOUT_MS,
};
