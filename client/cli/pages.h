/* Lists of what lives on the loops of a server, which answers them page by page: connections,
 * workers.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_PAGES_H
#define ERGON_CLI_PAGES_H

#include "client/cli/session.h"

#include <jansson.h>

struct paged_list {
    const char *key;     /* of a page's array: "workers" */
    const char *none;    /* what is said where there is nothing: "no workers" */
    const void *options; /* of the command */
    uint64_t limit;      /* entries at most */
    /* The request for one page of at most so many; `cursor` NULL: the first. */
    struct ergon_request *(*ask)(const void *options, uint64_t limit, const char *cursor);
    json_t *(*row_of)(const json_t *entry); /* as the table has it; a new reference */
    const char *const *columns;             /* of the table, and NULL */
};

/* Asks for all pages, and prints them as a table, or with --json as one array; then says what is
 * missing.  What went wrong was printed: the status says what. */
enum status pages_show(struct session *s, const struct paged_list *list);

#endif
