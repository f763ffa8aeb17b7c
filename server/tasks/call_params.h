/* Memory that a server shares with a process of a module, for long parameters of its calls: the
 * process reads them in place.
 *
 * Thread: the server's side is that of the loop that has the connection of the process, but for
 * what says otherwise; the process's side is any.  Nothing waits, but memory that is used for the
 * first time is fetched from the system. */
#ifndef ERGON_TASKS_CALL_PARAMS_H
#define ERGON_TASKS_CALL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct call_params;

enum {
    CALL_PARAMS_BLOCK = 64 << 10, /* bytes; each call's begin a block */
    CALL_PARAMS_BLOCKS = 1024,    /* at most, of all calls at a time: 64 MiB */
    CALL_PARAMS_KEPT = 16 << 20   /* bytes at the begin that are not given back to the system */
};

/* --- The server --- */

/* Empty memory.  NULL and errno: the system has no more.  *fd is the caller's: the process maps the
 * memory by it.  Any thread. */
struct call_params *call_params_new(int *fd);
/* NULL is fine.  Any thread; what the process has mapped stays. */
void call_params_free(struct call_params *p);

/* Room for so many bytes of parameters (1 or more), which the caller fills before it tells the
 * process where they are (call_params_offset()).  NULL: there is none now, here or in the system.
 */
void *call_params_room(struct call_params *p, size_t size, uint16_t *place);
/* Of what has been given room: bytes from the beginning of the memory. */
uint64_t call_params_offset(uint16_t place);
/* The process does not read it any more. */
void call_params_release(struct call_params *p, uint16_t place);

/* --- The process --- */

/* The memory of this descriptor.  NULL: it is none, or there is no memory. */
const struct call_params *call_params_map(int fd);
/* What the server put there.  False: that is outside. */
bool call_params_find(const struct call_params *p, uint64_t offset, uint64_t len, struct span *out);

#endif
