/* The id of a request, put to another place. */
#ifndef ERGON_PROTO_MSGID_H
#define ERGON_PROTO_MSGID_H

#include <string.h>

#include "base/span.h"

/* `to` has room for MSGID_MAX bytes.  Ids count up, so most have 3 or 5 bytes: a copy of a length
 * that is known costs a third of what memcpy() does, and each call has two.  Pure. */
static inline void msgid_copy(uint8_t *to, struct span from)
{
    if (from.len == 5)
        memcpy(to, from.at, 5);
    else if (from.len == 3)
        memcpy(to, from.at, 3);
    else if (from.len > 0)
        memcpy(to, from.at, from.len);
}

#endif
