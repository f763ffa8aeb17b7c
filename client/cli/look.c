#include "client/cli/look.h"

#include "client/cli/json.h"
#include "client/cli/params.h"

json_t *look_at(struct session *s, const char *method, json_t *params, uint32_t timeout_ms,
                enum status *status)
{
    struct span result;
    *status = session_probe(s, json_request(method, params != NULL ? params : json_array()),
                            timeout_ms, &result);
    json_t *answer = *status == STATUS_OK ? json_from_value(result) : NULL;
    if (*status == STATUS_OK && answer == NULL)
        *status = STATUS_REMOTE;
    return answer;
}

json_t *look_at_pages(struct session *s, const char *method, const char *key, size_t limit,
                      uint32_t timeout_ms, enum status *status)
{
    json_t *all = json_array(), *cursor = NULL;
    do {
        json_t *options = json_object();
        if (cursor != NULL)
            json_object_set_new(options, "cursor", cursor);
        json_t *page = look_at(s, method, json_pack("[o]", options), timeout_ms, status);
        if (page == NULL) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(all, json_object_get(page, key));
        cursor = json_incref(json_object_get(page, "next"));
        json_decref(page);
    } while (json_is_string(cursor) && json_array_size(all) < limit);
    json_decref(cursor);
    return all;
}
