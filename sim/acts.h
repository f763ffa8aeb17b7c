/* Checks that the log has a record of each administrative act.
 *
 * acts: an act that was answered without an error has its record (logs.md, "The audit log";
 * PROTOCOL.md, "Administrative acts"). */
#ifndef ERGON_SIM_ACTS_H
#define ERGON_SIM_ACTS_H

struct log_field;
struct sim_request;

/* Call when the server has written a record of this name. */
void sim_act_recorded(const char *event, const struct log_field *fields);
/* Call with each request that was answered. */
void sim_check_act(const struct sim_request *r);

#endif
