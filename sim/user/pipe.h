/* Exchanges messages with the process that started us, on standard input and output.  A message is
 * its length, four bytes in network order, and one MessagePack value.
 *
 * Both functions block, and end the process when the other side has closed its end. */
#ifndef ERGON_SIM_USER_PIPE_H
#define ERGON_SIM_USER_PIPE_H

#include "base/span.h"

void pipe_write(struct span message);
struct span pipe_read(void); /* valid until the next call */

#endif
