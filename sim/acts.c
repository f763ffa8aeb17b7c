#include "sim/acts.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "sim/burst.h"
#include "sim/trace.h"

/* Those that always are acts. */
static struct act {
    const char *method;
    uint32_t recorded, answered;
} acts[] = {
    {.method = "queue.pause"},     {.method = "queue.resume"},  {.method = "queue.drain"},
    {.method = "cron.put"},        {.method = "cron.delete"},   {.method = "cron.pause"},
    {.method = "cron.resume"},     {.method = "cron.run"},      {.method = "sem.revoke"},
    {.method = "connection.kill"}, {.method = "cluster.drain"}, {.method = "cluster.forget"},
    {.method = "cluster.retry"}};

static struct act *find(const char *method)
{
    for (struct act *a = acts; a < acts + sizeof acts / sizeof *acts; a++)
        if (strcmp(a->method, method) == 0)
            return a;
    return NULL;
}

static const char *text_of(const struct log_field *fields, const char *key)
{
    for (; fields->kind != LOG_KIND_END; fields++)
        if (log_is_text(fields->kind) && fields->str && strcmp(fields->key, key) == 0)
            return fields->str;
    return "";
}

void sim_act_recorded(const char *event, const struct log_field *fields)
{
    struct act *a = find(text_of(fields, "method"));
    if (a && strcmp(event, "administrative act") == 0)
        a->recorded += strcmp(text_of(fields, "outcome"), "ok") == 0;
}

void sim_check_act(const struct sim_request *r)
{
    struct act *a = find(r->method);
    if (a && r->error.len == 0 && ++a->answered > a->recorded)
        sim_finding("acts: %u calls of %s were answered, and %u are recorded", a->answered,
                    a->method, a->recorded);
}
