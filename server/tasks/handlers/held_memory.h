/* Memory that a module's handlers hold when their task is over; for `ergond --dev` alone.
 *
 * The calls of malloc(), calloc(), realloc(), free(), strdup() and strndup() that a module makes
 * itself are led through here, by its table of imported functions.  What is allocated while a step
 * of a task is under way counts for that task until it is freed, by whichever task or thread.  What
 * libraries allocate on a module's behalf is not seen, nor what a module frees that they allocated.
 *
 * Thread: held_memory_watch() where the modules are loaded, before the threads start; the others
 * any thread.  Without held_memory_watch() all do nothing. */
#ifndef ERGON_TASKS_HELD_MEMORY_H
#define ERGON_TASKS_HELD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on the modules that are loaded are watched. */
void held_memory_begin(void);

/* `object`: what dlopen() answered.  A module whose imports cannot be led through here is left as
 * it is, and the log says so. */
void held_memory_watch(void *object, const char *path);

/* What this thread allocates from now on counts for the task of that number; 0: for none.  Returns
 * the one before. */
uint64_t held_memory_enter(uint64_t task);

/* The task is over: what it still holds, in bytes and blocks; from now on that counts for nobody.
 */
size_t held_memory_end(uint64_t task, size_t *blocks);

#endif
