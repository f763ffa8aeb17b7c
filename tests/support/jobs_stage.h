/* A ledger's world for each test: cmocka's set-up and tear-down, and what such tests ask. */
#ifndef ERGON_TESTS_JOBS_STAGE_H
#define ERGON_TESTS_JOBS_STAGE_H

#include "tests/support/jobs_world.h"

/* *state becomes a world with room for one attempt of each kind; the second has a store. */
int jobs_stage(void **state);
int jobs_stage_stored(void **state);
int jobs_stage_end(void **state);

void stage_holds(const char *told, const char *wanted); /* fails unless the one is in the other */
void stage_balances(struct jobs_world *w); /* server.audit says so, and the store knows it */

#endif
