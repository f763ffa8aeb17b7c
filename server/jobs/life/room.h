/* Is there room for a new job?  All jobs together may be so many and take so many bytes.  What has
 * ended makes room for what is new, but for a reserve (retention.h); and of what is left to open
 * jobs a tenant may take so much as leaves some to others.  Thread: the jobs'. */
#ifndef ERGON_JOBS_ROOM_H
#define ERGON_JOBS_ROOM_H

#include "proto/errors.h"
#include "server/jobs/jobs_parts.h"

/* Forgets what it must of what has ended.  ERGON_OK: there is room for a job of this spec;
 * ERGON_E_BUSY, ERGON_E_TOO_LARGE and a text: there is none now, or never.  A tenant that is beyond
 * its share, and what is too large, cost no other job its place. */
enum ergon_error room_make(struct jobs *jobs, const struct job_spec *spec, char *text, size_t size);

/* The same for so many bytes that a tenant is to have beside tasks; of none always ERGON_OK. */
enum ergon_error room_make_bytes(struct jobs *jobs, struct span tenant, size_t bytes, char *text,
                                 size_t size);

/* A small step towards the limits, which may have been lowered, and the room that was refused last
 * since too much would have had to go at once.  True: nothing is left to do. */
bool room_trim(struct jobs *jobs);

/* May a tenant hold `held` of something, while so much is `free`?  With a share of 80 %, four times
 * as much as is free: alone it gets 80 % of all, of two each gets four ninths, and whatever the
 * others hold, who comes later finds room. */
bool room_is_shared(const struct jobs *jobs, uint64_t held, uint64_t free);

#endif
