#include "client/cli/doctor/checks.h"

#include "client/cli/json.h"

#include <string.h>

const struct check *const CHECKS[] = {
    CHECKS_REACH,  CHECKS_RUNNING, CHECKS_QUEUES,  CHECKS_ROOM,   CHECKS_STORE,
    CHECKS_SHARED, CHECKS_ACTORS,  CHECKS_CLUSTER, CHECKS_ACCESS, NULL};

json_t *checks_run(const json_t *facts)
{
    static const char *const severities[] = {"error", "warning", "note"};
    struct visit v = {.facts = facts, .findings = json_array()};
    for (const struct check *const *group = CHECKS; *group != NULL; group++)
        for (v.check = *group; v.check->name != NULL; v.check++)
            v.check->look(&v);
    json_t *sorted = json_array(), *one;
    size_t i;
    for (size_t s = 0; s < sizeof severities / sizeof *severities; s++)
        json_array_foreach(v.findings, i, one)
        {
            if (strcmp(json_text(one, "severity"), severities[s]) == 0)
                json_array_append(sorted, one);
        }
    json_decref(v.findings);
    return sorted;
}
