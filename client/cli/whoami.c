/* ergon whoami: who the server takes us for, and what we may do. */
#include "client/cli/ask.h"
#include "client/cli/json.h"
#include "client/cli/output.h"

#include <string.h>

enum { ASK_TIMEOUT_MS = 10 * 1000 };

/* "a, b, c" */
static void print_list(const json_t *list)
{
    size_t i;
    json_t *text;
    json_array_foreach(list, i, text)
    {
        printf("%s", i > 0 ? ", " : "");
        print_text(json_string_value(text));
    }
}

/* "  KEY  a, b", if something is said of it. */
static void print_patterns(const json_t *grant, const char *key)
{
    const json_t *list = json_object_get(grant, key);
    if (!json_is_array(list))
        return;
    printf("  %-8s ", key);
    print_list(list);
    putchar('\n');
}

static void print_grants(const json_t *grants)
{
    static const char *const keys[] = {"methods", "tenants", "queues", "keys"};
    size_t i;
    json_t *grant;
    json_array_foreach(grants, i, grant)
    {
        puts(i == 0 ? "may" : "and");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            print_patterns(grant, keys[k]);
    }
    if (json_array_size(grants) == 0)
        puts("may call nothing that needs a right");
}

static enum status show(const struct globals *g, json_t *me)
{
    const json_t *allow = json_object_get(me, "allow");
    if (g->json)
        return STATUS_OK;
    print_text(json_text(me, "principal"));
    printf(", of the tenant ");
    print_text(json_text(me, "tenant"));
    putchar('\n');
    if (json_is_true(json_object_get(me, "unconfigured")))
        puts("may do everything: nobody has said who may what");
    else
        print_grants(json_object_get(me, "grants"));
    if (json_is_array(allow)) {
        printf("but on this listener only ");
        print_list(allow);
        putchar('\n');
    }
    return STATUS_OK;
}

static struct ergon_request *ask_whoami(void)
{
    return ergon_request_raw("server.whoami", (struct ergon_raw){0});
}

const struct command WHOAMI = {
    .name = "whoami",
    .arguments = "",
    .summary = "who the server takes you for, and what you may do",
    .text =
        "Prints principal and tenant, and each grant: the methods, and, where that is limited,\n"
        "on whose tasks (tenants; one's own otherwise), queues and keys they may be used. With\n"
        "--json also the server's methods that may be called, and limits.\n",
    .examples = "  ergon whoami\n"
                "  ergon whoami --json | jq -e '.methods | index(\"queue.pause\")'\n",
    .ask = ask_whoami,
    .show = show,
    .timeout_ms = ASK_TIMEOUT_MS,
};
