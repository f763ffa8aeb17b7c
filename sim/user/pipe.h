/* Messages between us and the process that started us, on standard input and output: each is four
 * bytes of its length, the highest first, and one MessagePack value.
 *
 * Blocking.  Where the other side has gone the process ends. */
#ifndef ERGON_SIM_USER_PIPE_H
#define ERGON_SIM_USER_PIPE_H

#include "base/span.h"

void pipe_write(struct span message);
struct span pipe_read(void); /* valid until the next call */

#endif
