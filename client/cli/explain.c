#include "client/cli/explain.h"

#include "client/cli/people.h"
#include "client/cli/render.h"

enum status explain_print(const struct globals *g, json_t *answer)
{
    const char *name = people_text(answer, "id");
    people_object(answer, people_now());
    render_text(name[0] != 0 ? name : people_text(answer, "method"));
    fputs(": ", stdout);
    render_text(people_text(answer, "text"));
    puts("\n");
    json_object_del(answer, "text");
    json_object_del(answer, "id");
    render_object(answer, colour_wanted(g, stdout));
    json_decref(answer);
    return STATUS_OK;
}
