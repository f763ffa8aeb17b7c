/* Which workers ran attempts: each worker's number, name, host and version, kept once and named by
 * a slot of 16 bits.  A label outlives its worker while a job refers to it.
 *
 * A label is one text, as the store has it: "w17\tname\thost\tversion", of which all but the first
 * may be empty.
 *
 * Thread: the jobs'.  Nothing here blocks.  Slot 0 names no worker; without memory, or with all
 * slots in use, an attempt gets that. */
#ifndef ERGON_JOBS_WORKER_LABELS_H
#define ERGON_JOBS_WORKER_LABELS_H

#include "base/hash_table.h"
#include "base/span.h"

enum { WORKER_LABELS_MAX = UINT16_MAX, WORKER_LABEL_NONE = 0, WORKER_LABEL_BYTES = 292 };

struct worker_label;

/* Zeroed: it is empty. */
struct worker_labels {
    struct hash_table by_text; /* initialized with the first label */
    struct worker_label **of;  /* by slot, `room` of them; NULL: free */
    uint16_t *free;            /* slots below `room`, `free_count` of them */
    uint32_t room, free_count;
    uint64_t seed[2]; /* of the hashes; set by the owner */
};

/* All references have been given back, or do not matter any more. */
void worker_labels_fini(struct worker_labels *labels);

struct worker_label_parts {
    struct span worker, name, host, version;
};
/* The slot of these parts, whose control characters become blanks; as worker_label_take(). */
uint16_t worker_label_make(struct worker_labels *labels, const struct worker_label_parts *parts);
/* The slot of this text, which is copied, with one more reference, the caller's. */
uint16_t worker_label_take(struct worker_labels *labels, struct span text);
void worker_label_ref(struct worker_labels *labels, uint16_t slot);
void worker_label_unref(struct worker_labels *labels, uint16_t slot);

/* Its text, valid as long as a reference is held; empty for slot 0. */
struct span worker_label_text(const struct worker_labels *labels, uint16_t slot);

/* The parts of a text; those that it does not have are empty. */
struct worker_label_parts worker_label_parts(struct span text);

#endif
