/* Arguments of the command line as parameters of a call.
 *
 * `@file` and `-` (standard input) are bytes; what parses as JSON is JSON; all else is a string. */
#ifndef ERGON_CLI_PARAMS_H
#define ERGON_CLI_PARAMS_H

#include <msgpack.h>

#include "base/span.h"

/* Appends the array of all arguments.  False: message printed. */
bool params_pack(msgpack_packer *to, int argc, char **argv);

#endif
