/* Errors of a server in the words of the command line: commands and not methods of the wire.
 *
 * Pure; one thread. */
#ifndef ERGON_CLI_WORDING_H
#define ERGON_CLI_WORDING_H

#include <stdbool.h>
#include <stddef.h>

struct wording {
    char code[40];
    char text[1024]; /* with the code in front, where that says more than the text */
    char hint[256];  /* empty: none */
    char method[64]; /* the method that is not there, so that likely ones can be named; empty: no */
};

/* What is told of an error; the texts are the server's. */
void wording_of(struct wording *w, const char *code, const char *text);

/* Is the method one of the server's own, and no handler's or worker's? */
bool wording_is_own(const char *method);

#endif
