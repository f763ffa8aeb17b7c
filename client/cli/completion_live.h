/* What may stand where the cursor is: commands and options, and what only the server, the contexts
 * or the disk know: methods, ids of tasks, names, files behind "@".
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_COMPLETION_LIVE_H
#define ERGON_CLI_COMPLETION_LIVE_H

struct command;

/* Prints the candidates that begin as the last of `words`, one a line, each with a tab and what it
 * is where there is something to say; the others are the words in front of it, behind "ergon".
 * `commands` is the table of all, NULL behind the last. None: the shell may offer files.  Never
 * says anything else, and ends the program within two seconds whatever the server does. */
void completion_live(const struct command *const *commands, int count, char **words);

#endif
