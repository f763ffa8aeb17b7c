#include "client/cli/doctor/reach.h"

#include <errno.h>
#include <string.h>

/* libergon says it in the system's words. */
static bool says(const char *why, int error)
{
    char text[96];
    return strstr(why, strerror_r(error, text, sizeof text)) != NULL;
}

/* check.h has the words. */
static const char *kind_of(enum ergon_end outcome, const char *why)
{
    if (outcome == ERGON_END_DENIED)
        return "denied";
    if (says(why, EACCES))
        return "no right";
    if (says(why, ECONNREFUSED) || says(why, ENOENT))
        return "refused";
    return strstr(why, "certificate") != NULL || strstr(why, "TLS") != NULL ? "tls" : "silent";
}

json_t *facts_without(const char *url, enum ergon_end outcome, const char *why)
{
    json_t *text = json_string(why);
    return json_pack("{s:{s:s, s:s, s:o}}", "no_connection", "kind", kind_of(outcome, why), "url",
                     url, "why", text != NULL ? text : json_string("no connection"));
}
