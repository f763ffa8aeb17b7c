/* Who is connected to a server, and away with them, for users of libergon; the wire stands in
 * PROTOCOL.md.
 *
 * As in client_tasks.h, each function makes a request, which any face of client.h sends.  NULL: out
 * of memory.  Any thread. */
#ifndef ERGON_CLIENT_CONNECTIONS_H
#define ERGON_CLIENT_CONNECTIONS_H

#include <ergon/client_tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which connections are meant: all conditions hold.  Zero and NULL: not asked for.  One whose
 * `size` is 0 makes a request that is refused (INVALID). */
struct ergon_connection_filter {
    size_t size; /* sizeof(struct ergon_connection_filter) */
    uint64_t id;
    const char *principal;
    bool nobody;          /* those that have not said who they are */
    const char *address;  /* with its port, or without */
    const char *listener; /* its URL */
    uint64_t idle_ms;     /* nothing in flight, and quiet for so long */
    uint64_t limit;       /* of a page of ergon_request_connections(); 100 */
    const char *cursor;   /* likewise: `next` of the page before */
};

/* connection.list, .kill: a page of those that a filter means (NULL: of all); or an end of them,
 * answered by a map with `killed`.  `flags`: of enum ergon_match_flag. */
ERGON_API struct ergon_request *
ergon_request_connections(const struct ergon_connection_filter *filter);
ERGON_API struct ergon_request *
ergon_request_kill_connections(const struct ergon_connection_filter *filter, unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
