/* What is in a job: its parameters, as a value or as a text, and its options; and the search for a
 * text in parameters.  What an answer shows of it depends on the caller's rights
 * (operation_sees()), and on whether the parameters of its method are secret.
 *
 * Thread: the jobs'.  Work is bounded by what is shown, and counted with jobs_worked(). */
#ifndef ERGON_JOBS_CONTENTS_H
#define ERGON_JOBS_CONTENTS_H

#include "proto/display.h"
#include "proto/pack.h"

struct job;
struct job_queue;
struct jobs;
struct operation;
struct rights_object;

/* What is shown of a job beside its state and its figures: a set. */
enum view_part {
    VIEW_RESULT = 1,
    VIEW_HISTORY = 2,
    VIEW_OPTIONS = 4,
    VIEW_PARAMS_TEXT = 8,
    VIEW_PARAMS = 16, /* long ones are left to the caller */
    VIEW_ATTEMPTS = 32
};

/* Parameters of more bytes are copied in steps: contents_copy(). */
enum { CONTENTS_AT_ONCE = 64 << 10 };

/* Why the caller may not see the parameters: "secret", "denied"; NULL: it may. */
const char *contents_hidden(const struct operation *op, const struct job *job);
/* The same of parameters that jobs of this queue, or NULL, would have. */
const char *contents_hidden_in(const struct operation *op, const struct job_queue *queue,
                               const struct rights_object *object);

/* How many pairs contents_pack() adds to a map for these of enum view_part. */
unsigned contents_pairs(unsigned parts);
/* Of VIEW_PARAMS only the key is packed, the last of all pairs, if contents_are_long(). */
void contents_pack(struct jobs *jobs, const struct operation *op, const struct job *job,
                   unsigned parts, struct pack *p);

/* The caller may see its parameters, which are too long to be copied at once. */
bool contents_are_long(const struct operation *op, const struct job *job);

/* A copy that is made in steps.  Begins zeroed. */
struct contents_copy {
    uint8_t *at; /* malloc'ed; freed by the owner */
    size_t done;
};
/* Copies a part; false: there is more to copy.  True: it is whole, and `p` has it; or there is no
 * memory, which `p` remembers. */
bool contents_copy(struct jobs *jobs, const struct job *job, struct contents_copy *copy,
                   struct pack *p);

/* A search for a text in the parameters of one job after the other.  Zeroed: none. */
struct contents_search {
    struct search is;
    struct search_place place;
    uint64_t id; /* of the job in which it looks; 0: in none yet */
};
/* Does the job have parameters that the caller may see, and in which the text is?  MORE: to be
 * called again.  When it is done with the job, adds to `visits` one for each 4 KiB that it looked
 * at: so a page, which a number of visits ends, always gets on by a job. */
enum search_outcome contents_find(struct jobs *jobs, const struct operation *op,
                                  const struct job *job, struct contents_search *s,
                                  uint32_t *visits);

#endif
