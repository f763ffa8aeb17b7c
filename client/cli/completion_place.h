/* Where the cursor stands in a command line that is being typed: behind which command, in the value
 * of which option, or in front of which argument.  Nothing is asked and nothing printed.
 *
 * One thread, as cli.h says of the whole folder. */
#ifndef ERGON_CLI_COMPLETION_PLACE_H
#define ERGON_CLI_COMPLETION_PLACE_H

#include "client/cli/cli.h"

enum { COMPLETION_FLAGS_MAX = 256 };

/* All pointers are to the words, or to the tables of the commands. */
struct completion_place {
    const struct command *const *commands; /* all of them; NULL behind the last */
    const struct command *command;     /* that or the group before the cursor; NULL: neither yet */
    bool value;                        /* the cursor is in the value of an option */
    const struct option_spec *option;  /* that option; NULL: none, or one that nobody knows */
    bool global;                       /* it is one that all commands have */
    bool help;                         /* "help" stands before all other words */
    bool ended;                        /* a "--" has ended the options */
    int arguments;                     /* of the command, before the cursor */
    const char *first;                 /* of these the first; NULL: there is none */
    const char *begin;                 /* as which candidates begin */
    const char *prefix;                /* what stands before that in the same word: "--state=" */
    int prefix_len;                    /* its bytes; 0: nothing does */
    char *flags[COMPLETION_FLAGS_MAX]; /* words that are options of all commands, and their values;
                                        * what is beyond the room is left out */
    int flag_count;
};

/* The cursor is at the end of the last of `words`; the others are what stands in front of it,
 * behind "ergon".  None: at the beginning of the first. */
void completion_place_find(struct completion_place *p, const struct command *const *commands,
                           int count, char **words);

/* Can nothing but options follow, since all arguments of the command are there? */
bool completion_place_is_full(const struct completion_place *p);

#endif
