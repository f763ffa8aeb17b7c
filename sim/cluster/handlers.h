/* Handlers that run on the nodes of a simulated cluster, and tell jobs.c when they begin:
 *
 *     sim.job [serial, ms, plan]    takes so long; plan: enum sim_plan */
#ifndef ERGON_SIM_CLUSTER_HANDLERS_H
#define ERGON_SIM_CLUSTER_HANDLERS_H

#include <ergon/module.h>

enum sim_plan { SIM_DONE, SIM_FAILS, SIM_KILLS, SIM_LATER, SIM_PLANS };

extern const struct ergon_module_info *const sim_handlers_module;

#endif
