/* Starts a process of a module: this program once more, which finds in its environment and its open
 * files what it is (server/module_main.c).
 *
 * Thread: any. */
#ifndef ERGON_PROCESSES_SPAWN_H
#define ERGON_PROCESSES_SPAWN_H

#include <sys/types.h>

#include "server/config/config.h"
#include "server/config/module_spec.h"

struct call_board;
struct call_params;

/* What the process has open, beside standard input, output and error. */
enum { SPAWN_SOCKET = 3, SPAWN_BOARD = 4, SPAWN_PARAMS = 5, SPAWN_HELLO = 6 };

/* It exits with this status when its connection has ended, as when the server refuses what it
 * offers. */
enum { SPAWN_UNCONNECTED = 75 /* EX_TEMPFAIL */ };

/* "SLOTS MEMORY NAME" in the process's environment: what it gets at a time, bytes of data that it
 * may have, and its name among workers. */
#define SPAWN_VARIABLE "ERGON_MODULE_PROCESS"

struct spawned {
    pid_t pid;
    int pidfd;
    int socket; /* to the process, not blocking */
    int hello;  /* of its first words, not blocking */
    struct call_board *board;
    struct call_params *params;
};

/* What processes have of the server's configuration: a reload frees that. */
struct spawn_settings {
    uint64_t message; /* bytes of one, at most */
    uint32_t blocking;
    enum log_level level;
    enum config_log_format format;
};
struct spawn_settings spawn_settings_of(const struct config *c);

/* `name`: of this process, for people.  False and a text: no descriptor, no memory, no process; or
 * the sandbox does not let this process start programs.  All that *out names is the caller's. */
bool spawn_module(const struct spawn_settings *c, const struct module_spec *spec, const char *name,
                  struct spawned *out, char *error, size_t size);

/* Requests that a process has at a time: of stepped handlers and of blocking ones. */
uint32_t spawn_slots(const struct spawn_settings *c, const struct module_spec *spec);

#endif
