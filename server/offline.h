/* What ergond does with a store's file in place of serving: checks it, writes it out, makes one. */
#ifndef ERGON_SERVER_OFFLINE_H
#define ERGON_SERVER_OFFLINE_H

#include "server/config/config.h"

/* `action` is CONFIG_CHECK_STORE, CONFIG_EXPORT_STORE (to stdout), CONFIG_IMPORT_STORE (from
 * stdin) or CONFIG_BACKUP_STORE (to `copy`, which the others do not look at).  Returns the exit
 * status of the process: 0 good; 1 damaged, or a line was refused; 2 nothing could be done. Blocks.
 */
int offline_run(enum config_action action, const char *path, const char *copy);

#endif
