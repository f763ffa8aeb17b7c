/* Reads a YAML file into jansson's values, and keeps the line of each.  One file at a time. */
#ifndef ERGON_SIM_USER_YAML_TREE_H
#define ERGON_SIM_USER_YAML_TREE_H

#include <jansson.h>
#include <stddef.h>

/* Returns a new reference, or NULL with the error "FILE:LINE: what".  Plain scalars are null,
 * booleans, numbers or texts, as in YAML 1.2; quoted scalars are texts. */
json_t *sim_yaml_read(const char *path, char *error, size_t size);
/* Returns the line, from 1; 0: unknown, as for booleans and null. */
unsigned sim_yaml_line(const json_t *value);

#endif
