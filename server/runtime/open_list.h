/* Which activators are open, so that one that is closed twice is told apart from memory that has
 * gone.
 *
 * Any thread; looked at when an activator is opened or closed, and never in between.  The list
 * borrows the activators.  Nothing here fails. */
#ifndef ERGON_RUNTIME_OPEN_LIST_H
#define ERGON_RUNTIME_OPEN_LIST_H

#include "server/runtime/state.h"

void open_note(struct activator *a); /* it was opened */

/* It is about to be closed.  False: it is not open; nothing that it points to is looked at. */
bool open_forget(const struct activator *a);

#endif
