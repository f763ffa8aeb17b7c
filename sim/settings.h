/* The configuration of the server in a run, as flags of ergond. */
#ifndef ERGON_SIM_SETTINGS_H
#define ERGON_SIM_SETTINGS_H

#include <stdbool.h>

enum { SIM_FLAGS_MAX = 32 };

struct sim_flags {
    char text[SIM_FLAGS_MAX][64];         /* "--flag=value" */
    const char *words[SIM_FLAGS_MAX + 1]; /* NULL at the end */
    int count;
};

/* Replaces the value of the flag, or appends the flag. */
void sim_flag_set(struct sim_flags *f, const char *flag, const char *value);

void sim_flags_plain(struct sim_flags *f); /* sets the plain values */
void sim_flags_draw(struct sim_flags *f);  /* draws values, and records those that are not plain */
bool sim_flag_is_set(const struct sim_flags *f, const char *flag);
const char *sim_flag_value(const struct sim_flags *f, const char *flag);

#endif
