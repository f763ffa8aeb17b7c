/* A module of the configuration: its file, and whether it runs in processes of its own.
 *
 *     thumbs.so
 *     thumbs.so,process
 *     thumbs.so,process,processes=4,slots=16,memory=512m,stuck=5s
 *
 * A ';' is a ',' too: in ERGON_MODULE a comma begins the next module.
 *
 * Pure; thread: any. */
#ifndef ERGON_CONFIG_MODULE_SPEC_H
#define ERGON_CONFIG_MODULE_SPEC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODULE_PROCESSES_MAX = 64, MODULE_SLOTS_MAX = 512 };

struct module_spec {
    char path[PATH_MAX]; /* as given: module_path_find() finds the file */
    bool is_process;     /* what follows counts */
    uint32_t processes;  /* 1 to MODULE_PROCESSES_MAX */
    uint32_t slots;      /* of stepped handlers, that one process has at a time */
    uint64_t memory;     /* bytes of data that one process may have; 0: any number */
    uint64_t stuck;      /* ns for which a step, or a task that is late, may go on; 0: any time */
};

/* False, and a text that says what to write: an unknown option, or a value that is none. */
bool module_spec_read(const char *text, struct module_spec *out, char *error, size_t size);

#endif
