#include "client/cli/worker_actor.h"

#include "client/cli/cli.h"

#include <stddef.h>
#include <string.h>

const struct option_spec ACTOR_TYPE_OPTIONS[] = {
    {0, "actor", "TYPE", "the methods are those of actors of this type", OPTION_TEXT,
     offsetof(struct actor_type_options, type)},
    {0, "reads", "METHOD", "changes nothing and waits for no message; may stand several times",
     OPTION_LIST, offsetof(struct actor_type_options, reads)},
    {0, "durable", "LEVEL", "none: in memory; fsync: on disk; fsync, if the store is a file",
     OPTION_TEXT, offsetof(struct actor_type_options, durable)},
    {0, "idle", "TIME", "an actor that nobody uses leaves memory after so long; 5m",
     OPTION_DURATION, offsetof(struct actor_type_options, idle_ns)},
    {0},
};

static bool name_methods(struct actor_offer *offer, const char *type,
                         const struct option_list *methods)
{
    size_t len = strlen(type);
    for (size_t i = 0; i < methods->count; i++) {
        const char *method = methods->at[i];
        if (strncmp(method, type, len) == 0 && method[len] == '.') {
            complain("option --method: with --actor %s it is '%s', without the type", type,
                     method + len + 1);
            return false;
        }
        size_t all = (size_t)snprintf(offer->names[i], sizeof *offer->names, "%s.%s", type, method);
        if (len == 0 || method[0] == 0 || all >= sizeof *offer->names) {
            complain("'%s.%s' is no name of 1 to 64 bytes; see ergon worker --help", type, method);
            return false;
        }
        offer->methods[i] = offer->names[i];
    }
    return true;
}

static void pack_policy(struct pack *p, const struct actor_type_options *o)
{
    pack_map(p, 1);
    pack_str(p, o->type);
    pack_map(p, 1U + (o->durable != NULL) + (o->idle_ns > 0));
    pack_str(p, "reads");
    pack_array(p, o->reads.count);
    for (size_t i = 0; i < o->reads.count; i++)
        pack_str(p, o->reads.at[i]);
    if (o->durable != NULL) {
        pack_str(p, "durable");
        pack_str(p, o->durable);
    }
    if (o->idle_ns > 0)
        pack_key_uint(p, "idle", (o->idle_ns + 999999) / 1000000);
}

bool actor_offer_init(struct actor_offer *offer, const struct actor_type_options *o,
                      const struct option_list *methods)
{
    pack_init(&offer->actors);
    if (!name_methods(offer, o->type, methods))
        return false;
    pack_policy(&offer->actors, o);
    if (!offer->actors.failed)
        return true;
    complain_as("MEMORY", NULL, "out of memory");
    return false;
}

void actor_offer_fini(struct actor_offer *offer)
{
    pack_fini(&offer->actors);
}
