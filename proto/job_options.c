#include "proto/job_options.h"

const struct job_option job_options[JOB_OPTION_COUNT] = {
#define X(name, type, ...) {#name, JOB_OPTION_##type, __VA_ARGS__},
    JOB_OPTIONS(X)
#undef X
};
