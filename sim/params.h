/* Parameters of requests as JSON.  A task is written as the label of the request that submitted it,
 * because its id differs between runs. */
#ifndef ERGON_SIM_PARAMS_H
#define ERGON_SIM_PARAMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct sim_bytes;

/* Call when the answer to the request with this label has the id of the task. */
void sim_label(uint64_t label, struct span id);

/* Writes the array as JSON, with "$t5" for the id of the task that has label 5.  Returns false if
 * it does not fit. */
bool sim_params_show(struct span params, char *text, size_t size);

/* A parsed array of parameters. */
struct sim_params;

/* Returns NULL if the text is no array, or names an unknown task. */
struct sim_params *sim_params_read(const char *text);
/* Writes the parameters without the n-th of their options, which are the last parameter.  Returns
 * false if there is no such option. */
bool sim_params_without(const char *text, uint32_t n, char *out, size_t size);
uint32_t sim_params_count(const struct sim_params *p);
void sim_params_put(const struct sim_params *p, struct sim_bytes *out); /* each element */
void sim_put_json(struct sim_bytes *out, const json_t *value);
/* Returns the id of the task that the first parameter names by its label, or NULL. */
const char *sim_params_task(const struct sim_params *p);
/* Return the text ("" if none) or the number (0 if none) of an option in the last parameter. */
const char *sim_params_option(const struct sim_params *p, const char *name);
uint64_t sim_params_number(const struct sim_params *p, const char *name);
/* Returns `max` of the option "limit" or "rate" (`name`) if that has this key, or else 0. */
uint64_t sim_params_max(const struct sim_params *p, const char *name, const char *key);
/* Returns the serial of a call or task for workers; 0: it has none. */
uint64_t sim_params_serial(const struct sim_params *p, bool is_task);
void sim_params_free(struct sim_params *p);

#endif
