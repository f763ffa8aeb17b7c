/* The figures of the process, which the system keeps, as OpenMetrics text.
 *
 * Any thread; reads /proc, which does not block. */
#ifndef ERGON_ADMIN_PROCESS_METRICS_H
#define ERGON_ADMIN_PROCESS_METRICS_H

#define PROCESS_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The whole text, malloc'ed; NULL without memory. */
char *process_metrics_text(void);

#endif
