/* Records a run as the lines of a script that repeats it. */
#ifndef ERGON_SIM_RECORD_H
#define ERGON_SIM_RECORD_H

#include "sim/script.h"

struct sim_burst;

/* Records into `lines`, an array of SIM_LINES_MAX, until it is full.  Without this call nothing is
 * recorded. */
void sim_record_into(struct sim_line *lines, uint32_t *count);

void sim_record_others(uint64_t seed);
void sim_record_flag(const char *flag, const char *value);
void sim_record_disk(uint64_t ms, uint64_t tear);
void sim_record_begin(void);    /* begins a life, in which clients are quiet at first */
void sim_record_quiet(bool on); /* clients send no requests from now on, or send some again */
void sim_record_burst(uint32_t client, const struct sim_burst *b); /* when it is sent */
void sim_record_answers(const struct sim_burst *b);                /* when they have come */
void sim_record_leave(uint32_t client);
void sim_record_cut(uint64_t call); /* in a start, or at any later time */
void sim_record_end(enum sim_end how);

#endif
