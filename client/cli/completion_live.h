/* What may stand where the cursor is, as far as only the server, the contexts or the disk know it:
 * methods, ids of tasks, names, files behind "@".
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_COMPLETION_LIVE_H
#define ERGON_CLI_COMPLETION_LIVE_H

/* Prints the candidates that begin as the last of `words`, one a line; the others are the words in
 * front of it, behind "ergon".  Never says anything else, and ends the program within two seconds
 * whatever the server does. */
void completion_live(int count, char **words);

#endif
