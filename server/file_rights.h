/* Files that others should not touch: the log names those that everybody on the machine may write,
 * and, of what is secret, those that everybody may read.
 *
 * Thread: main.  Asks the file system. */
#ifndef ERGON_FILE_RIGHTS_H
#define ERGON_FILE_RIGHTS_H

#include "server/config/config.h"

/* The file of the configuration, modules, certificates and authorities; keys, tokens and the store
 * are secret.  A file that does not exist, or cannot be asked for, is nobody's concern here. */
void file_rights_warn(const struct config *c);
uint32_t file_rights_count(const struct config *c); /* says nothing */

#endif
