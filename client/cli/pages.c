#include "client/cli/pages.h"

#include "client/cli/ask.h"
#include "client/cli/humanize.h"
#include "client/cli/json.h"
#include "client/cli/output.h"
#include "client/cli/table.h"

enum { PAGE_MAX = 1000 };

/* What pages say beside their entries. */
struct rest {
    bool more;       /* there would be others */
    json_int_t away; /* loops that were not asked */
};

static enum status collect(struct session *s, const struct paged_list *list, json_t *all,
                           struct rest *rest)
{
    char cursor[512] = ""; /* that of actors has two names */
    do {
        json_t *page;
        uint64_t left = list->limit - json_array_size(all);
        struct ergon_request *request = list->ask(list->options, left < PAGE_MAX ? left : PAGE_MAX,
                                                  cursor[0] != 0 ? cursor : NULL);
        enum status status = ask_json(s, request, &page);
        if (status != STATUS_OK)
            return status;
        json_array_extend(all, json_object_get(page, list->key));
        rest->away += json_integer_value(json_object_get(page, "away"));
        snprintf(cursor, sizeof cursor, "%s", json_text(page, "next"));
        json_decref(page);
    } while (cursor[0] != 0 && json_array_size(all) < list->limit);
    rest->more = cursor[0] != 0;
    return STATUS_OK;
}

static void print_table(const struct globals *g, const struct paged_list *list, const json_t *all)
{
    json_t *rows = json_array();
    json_t *entry;
    size_t i;
    json_array_foreach(all, i, entry)
    {
        json_array_append_new(rows, list->row_of(entry));
    }
    humanize(rows, now_ms());
    table_print(rows, list->columns, 0, colour_wanted(g, stdout));
    json_decref(rows);
}

static enum status print_all(const struct globals *g, const struct paged_list *list, json_t *all)
{
    if (g->json)
        return print_json(json_incref(all));
    if (json_array_size(all) > 0)
        print_table(g, list, all);
    else if (!g->quiet)
        notice("%s", list->none);
    return STATUS_OK;
}

enum status pages_show(struct session *s, const struct paged_list *list)
{
    struct rest rest = {0};
    json_t *all = json_array();
    enum status status = collect(s, list, all, &rest);
    if (status == STATUS_OK)
        status = print_all(s->globals, list, all);
    if (status == STATUS_OK && rest.more && !s->globals->quiet)
        notice("there are more; see --limit");
    if (status == STATUS_OK && rest.away > 0)
        notice("some are missing: a loop of the server does not answer; see ergon info");
    json_decref(all);
    return status;
}
