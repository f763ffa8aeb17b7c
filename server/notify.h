/* Messages to the service manager.  Each call does nothing when no manager listens (no
 * NOTIFY_SOCKET); none blocks for long; any thread may call. */
#ifndef ERGON_NOTIFY_H
#define ERGON_NOTIFY_H

#include <stdint.h>

void notify_ready(const char *status);    /* READY=1; `status` is one line for systemctl status */
void notify_reloading(void);              /* RELOADING=1; notify_ready() must follow */
void notify_stopping(const char *status); /* STOPPING=1 */
void notify_watchdog(void);               /* WATCHDOG=1 */

/* How often notify_watchdog() is due: half of what the manager allows, in ns; 0: it does not ask.
 */
uint64_t notify_watchdog_period(void);

#endif
