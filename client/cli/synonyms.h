/* Words that users of other queues type, and what they are called here.
 *
 * Pure; one thread, as cli.h says of the whole folder.  `group` is the name of a group of commands,
 * or "" for the first word of a command line.  Texts that are returned are static. */
#ifndef ERGON_CLI_SYNONYMS_H
#define ERGON_CLI_SYNONYMS_H

#include <stddef.h>

/* The command, without its group, that the word is another name of: it is run.  That of the first
 * word may be several words ("task get --result").  NULL: the word is no alias. */
const char *synonym_alias(const char *group, const char *word);

/* What the user may have meant, whole and in quotes: "'task cancel' or 'connection kill'".  It is
 * only suggested.  NULL: nothing is known. */
const char *synonym_likely(const char *group, const char *word);

/* The n-th option, without dashes, that a user may have meant by one that does not exist: "server",
 * or with a value, "state running".  NULL: there are no more. */
const char *synonym_option(const char *name, size_t n);

#endif
