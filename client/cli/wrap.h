/* Text of help in lines that fit a terminal.  Pure but for what it prints. */
#ifndef ERGON_CLI_WRAP_H
#define ERGON_CLI_WRAP_H

#include <stdio.h>

/* Prints `text` and an end of line; the first line begins behind `indent` columns that are there
 * already, the others are indented by as many. */
void wrap_behind(FILE *out, int indent, const char *text);

/* Prints paragraphs: lines of `text` are joined and broken anew, but where an empty one or one that
 * begins with a blank follows, which stays as it is. */
void wrap_paragraphs(FILE *out, const char *text);

#endif
