/* The cores of this machine, as far as a thread may be bound to one.  Any thread; nothing fails. */
#ifndef ERGON_BASE_CORE_H
#define ERGON_BASE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* As many as the machine has, whether this process may use them or not. */
static inline int64_t core_count(void)
{
    return sysconf(_SC_NPROCESSORS_CONF);
}

/* They are counted from 0. */
static inline bool core_exists(int64_t core)
{
    return core >= 0 && core < core_count();
}

#endif
