/* A YAML file as jansson's values, and the line of each.  One file at a time. */
#ifndef ERGON_SIM_USER_YAML_TREE_H
#define ERGON_SIM_USER_YAML_TREE_H

#include <jansson.h>
#include <stddef.h>

/* Plain scalars are null, booleans, numbers or texts, as in YAML 1.2; quoted ones are texts.  A new
 * reference; NULL: the error is set, "FILE:LINE: what". */
json_t *sim_yaml_read(const char *path, char *error, size_t size);
/* From 1; 0: not known, as of booleans and null. */
unsigned sim_yaml_line(const json_t *value);

#endif
