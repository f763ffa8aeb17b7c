/* Arguments of the command line as parameters of a call: `@file` and `-` (standard input) are
 * bytes; what parses as JSON is JSON; what was meant to and does not (it begins with a bracket or a
 * quote, or is nearly a number) is an error; all else is a string.  --string and --json-arg say
 * outright which it is.  One thread, as cli.h says of the whole
 * folder. */
#ifndef ERGON_CLI_PARAMS_H
#define ERGON_CLI_PARAMS_H

#include <jansson.h>
#include <msgpack.h>

#include "client/cli/cli.h"
#include "proto/pack.h"

#include <ergon/client_tasks.h>

/* Appends the array of all arguments; `forms` NULL: none was said.  False: a file cannot be read,
 * "-" stands twice, a number is too large, a text is no JSON though it begins so, a value is nested
 * too deeply, $bytes is not base64 (a message was printed), or there is no memory.  What was
 * appended is to be thrown away.
 */
bool params_pack(msgpack_packer *to, const struct param_forms *forms, int argc, char **argv);

/* METHOD [ARG...] and options of a task, packed for libergon. */
struct task_spec {
    const char *method; /* the command line's */
    struct ergon_raw params;
    struct ergon_task_options options;
    struct pack packed_params, packed_options; /* what the two above point to; owned */
};

/* `options`: a map, or NULL for none; it stays the caller's.  False, and nothing is to be freed:
 * the method's name is empty or too long (a message was printed), or params_pack() failed, or there
 * is no memory. */
bool task_spec_pack(struct task_spec *o, const struct param_forms *forms, const json_t *options,
                    int argc, char **argv);
void task_spec_fini(struct task_spec *o);

/* Any method, with parameters that are JSON; `params` is a reference of the caller that this takes.
 * NULL: they are nested too deeply, or out of memory. */
struct ergon_request *json_request(const char *method, json_t *params);

#endif
