#include "server/administer.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/cluster/admin.h"
#include "server/store/driver.h"

enum { GOOD, FOUND, NOTHING };

struct findings {
    bool as_json, bad;
};

static const char *const grades[] = {
    [FACT_GOOD] = "good", [FACT_NOTE] = "note", [FACT_BAD] = "bad"};

static void print_json(const struct cluster_fact *fact)
{
    char *line = NULL;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s}", "name", fact->name, "grade", grades[fact->grade], "value",
                  fact->value ? fact->value : "", "text", fact->text ? fact->text : "");

    if (object)
        line = json_dumps(object, JSON_COMPACT);
    printf("%s\n", line ? line : "{}");
    free(line);
    json_decref(object);
}

static void print_fact(void *arg, const struct cluster_fact *fact)
{
    struct findings *f = arg;

    f->bad |= fact->grade == FACT_BAD;
    if (f->as_json) {
        print_json(fact);
        return;
    }
    printf("%-5s %s = %s\n", grades[fact->grade], fact->name, fact->value ? fact->value : "");
    if (fact->text && *fact->text)
        printf("      %s\n", fact->text);
}

static int complain(const char *why)
{
    fprintf(stderr, "ergond: %s\n", why);
    return NOTHING;
}

static int look(const struct cluster_admin *admin, const struct config *c, bool as_json)
{
    struct findings findings = {.as_json = as_json};
    char text[1024] = "";

    if (admin->look(c->store, print_fact, &findings, text, sizeof text) != 0)
        return complain(text);
    return findings.bad ? FOUND : GOOD;
}

static int import(const struct store_offline *store, const char *from)
{
    enum store_offline_end end = store_fill(store, from, stderr);

    if (end != OFFLINE_GOOD)
        fprintf(stderr,
                "ergond: the cluster's tables are there, and empty: mend the file, then run "
                "'ergon store export FILE | ergon store import URL'\n");
    return (int)end;
}

/* What is to be imported is there before the tables are. */
static int init(const struct cluster_admin *admin, const struct config *c,
                const struct store_offline *store)
{
    const char *name = c->cluster.name ? c->cluster.name : "ergon";
    char text[1024] = "";

    if (c->copy && access(c->copy, R_OK) != 0) {
        snprintf(text, sizeof text, "%s cannot be read, so nothing was made (see --import)",
                 c->copy);
        return complain(text);
    }
    if (admin->init(c->store, name, c->grant, text, sizeof text) != 0)
        return complain(text);
    printf("the database has the cluster '%s' now%s%s\n", name, *text ? ": " : "", text);
    fflush(stdout);
    return c->copy ? import(store, c->copy) : GOOD;
}

static int upgrade(const struct cluster_admin *admin, const struct config *c,
                   enum upgrade_step step)
{
    char text[1024] = "";

    if (admin->upgrade(c->store, step, c->grant, text, sizeof text) != 0)
        return complain(text);
    printf("%s\n", text);
    return GOOD;
}

int administer(const struct config *c, const struct store_offline *store)
{
    char error[512];
    const struct cluster_admin *admin =
        driver_symbol(c->store, CLUSTER_ADMIN_SYMBOL, error, sizeof error);

    if (!admin)
        return complain(error);
    switch (c->verb) {
    case CONFIG_VERB_INIT:
        return init(admin, c, store);
    case CONFIG_VERB_UPGRADE:
        return upgrade(admin, c, UPGRADE_ADD);
    case CONFIG_VERB_UPGRADE_CHECK:
        return upgrade(admin, c, UPGRADE_CHECK);
    case CONFIG_VERB_UPGRADE_FINISH:
        return upgrade(admin, c, UPGRADE_FINISH);
    case CONFIG_VERB_LOOK:
    case CONFIG_VERB_LOOK_JSON:
        return look(admin, c, c->verb == CONFIG_VERB_LOOK_JSON);
    }
    return NOTHING;
}
