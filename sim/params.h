/* Parameters of requests as JSON, in which tasks stand by the label of the request that made them:
 * ids are other ones in another run. */
#ifndef ERGON_SIM_PARAMS_H
#define ERGON_SIM_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct sim_bytes;

/* The answer of the request with this label named the task. */
void sim_label(uint64_t label, struct span id);

/* The array as JSON, with "$t5" for the id of what label 5 made.  False: it does not fit. */
bool sim_params_show(struct span params, char *text, size_t size);

/* A parsed array of parameters. */
struct sim_params;

/* NULL: it is no array, or names a task that is not known. */
struct sim_params *sim_params_read(const char *text);
/* The parameters without the n-th of the options, which are the last of them.  False: there is no
 * such. */
bool sim_params_without(const char *text, uint32_t n, char *out, size_t size);
uint32_t sim_params_count(const struct sim_params *p);
void sim_params_put(const struct sim_params *p, struct sim_bytes *out); /* each of its elements */
void sim_put_json(struct sim_bytes *out, const json_t *value);
/* The first parameter, if it is a task that has a label: its id; else NULL. */
const char *sim_params_task(const struct sim_params *p);
/* Of the last parameter, if it has options, this one: its text, or ""; its number, or 0. */
const char *sim_params_option(const struct sim_params *p, const char *name);
uint64_t sim_params_number(const struct sim_params *p, const char *name);
/* Of its option "limit" or "rate", if that has this key: `max`; else 0. */
uint64_t sim_params_max(const struct sim_params *p, const char *name, const char *key);
/* The first parameter of a method of workers, or of a task of such a method; 0: it is none. */
uint64_t sim_params_serial(const struct sim_params *p, bool is_task);
void sim_params_free(struct sim_params *p);

#endif
