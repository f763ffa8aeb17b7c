/* The sink of ergond: one write(2) to stderr for each record. */
#ifndef ERGON_LOGGING_H
#define ERGON_LOGGING_H

#include "server/config.h"
#include "server/runtime/log.h"

/* For log_set_sink(). */
struct log_sink log_stderr_sink(enum config_log_format format, enum log_level threshold);

#endif
