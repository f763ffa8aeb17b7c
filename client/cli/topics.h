/* What `ergon help TOPIC` and `ergon` alone say.  Constants; any thread. */
#ifndef ERGON_CLI_TOPICS_H
#define ERGON_CLI_TOPICS_H

struct topic {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *text;
};

/* NULL-named behind the last. */
extern const struct topic TOPICS[];

/* The first steps, for who gives no command. */
extern const char GUIDE[];

#endif
