/* How the server of a run is configured, as flags of ergond. */
#ifndef ERGON_SIM_SETTINGS_H
#define ERGON_SIM_SETTINGS_H

enum { SIM_FLAGS_MAX = 32 };

struct sim_flags {
    char text[SIM_FLAGS_MAX][64];         /* "--flag=value" */
    const char *words[SIM_FLAGS_MAX + 1]; /* NULL at the end */
    int count;
};

/* A flag in the place of the plain value, or behind all. */
void sim_flag_set(struct sim_flags *f, const char *flag, const char *value);

/* The plain ones; and these by chance, which records those that are other. */
void sim_flags_plain(struct sim_flags *f);
const char *sim_flag_value(const struct sim_flags *f, const char *flag);
void sim_flags_draw(struct sim_flags *f);

#endif
