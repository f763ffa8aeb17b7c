/* What `ergon doctor` prints: for people, as JSON, and for monitoring.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_DOCTOR_REPORT_H
#define ERGON_CLI_DOCTOR_REPORT_H

#include "client/cli/cli.h"
#include "client/cli/doctor/choice.h"

struct report {
    const struct choice *choice;
    json_t *findings;        /* those that are wanted, the worst first */
    const json_t *not_asked; /* methods that the server does not let us call; NULL: none */
    enum status looked;      /* STATUS_OK; else what kept us from looking */
};

/* To people, or with --json as one object.  The exit status: that of `looked` where it is none;
 * else STATUS_REMOTE where a finding is trouble. */
enum status report_print(const struct globals *g, const struct report *r);

/* A plug-in's answer: a line with figures, then one for each finding.  The exit status is one of
 * Nagios: 0 it is well, 1 warning, 2 critical, 3 nobody knows. */
enum status report_print_plugin(const struct report *r);

/* All checks, with their severities. */
enum status report_checks(const struct globals *g);

#endif
