/* Memory that a server shares with a process of a module, for long parameters of its calls: the
 * process reads them in place.
 *
 * Thread: functions of the server's side are called by the loop that has the connection of the
 * process, unless a comment says "any thread"; those of the process's side by any.  No function
 * blocks, but call_params_room() has the system allocate pages that are used for the first time. */
#ifndef ERGON_TASKS_CALL_PARAMS_H
#define ERGON_TASKS_CALL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct call_params;

enum {
    CALL_PARAMS_BLOCK = 64 << 10, /* bytes; the parameters of each call begin a block */
    CALL_PARAMS_BLOCKS = 1024,    /* of all calls at a time: 64 MiB */
    CALL_PARAMS_KEPT = 16 << 20   /* bytes at the beginning that the system does not get back */
};

/* --- The server --- */

/* Makes the memory, without any parameters.  The caller owns *fd, by which the process maps it.
 * Returns NULL, and sets errno, where the system has no descriptor or memory.  Any thread. */
struct call_params *call_params_new(int *fd);
/* Unmaps the memory from the server; the mapping of the process stays valid.  NULL is fine.  Any
 * thread. */
void call_params_free(struct call_params *p);

/* Returns room for `size` bytes of parameters (1 or more).  The caller fills it before it sends the
 * process their offset (call_params_offset()).  Returns NULL while neither this memory nor the
 * system has room. */
void *call_params_room(struct call_params *p, size_t size, uint16_t *place);
/* Returns where the room of this place begins: bytes from the beginning of the memory. */
uint64_t call_params_offset(uint16_t place);
/* Frees the room, once the process has answered and does not read it any more. */
void call_params_release(struct call_params *p, uint16_t place);

/* --- The process --- */

/* Maps the memory of this descriptor.  Returns NULL where the descriptor is no such memory, or the
 * system has no room for the mapping. */
const struct call_params *call_params_map(int fd);
/* Sets *out to the parameters at this offset.  Returns false where they would exceed the memory. */
bool call_params_find(const struct call_params *p, uint64_t offset, uint64_t len, struct span *out);

#endif
