/* Smaller parameters that make the same fault.  One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_MODULE_NARROW_H
#define ERGON_CLI_MODULE_NARROW_H

#include "client/cli/module/sheet.h"

/* Calls again and again, for some seconds at most, and has `f` take the smallest that do.  Of a
 * handler that did not return nothing is tried: each try would take as long. */
void narrow(struct private_server *s, const struct trial *t, struct fault *f);

#endif
