/* Clients that send messages to the actors of the module demo, and look at them.
 *
 * actors: a sum that a durable turn answered is higher than each that was answered before its
 * request was sent, whatever the server went through meanwhile (actors.md, "What is promised"); and
 * a version that a watcher saw never falls. */
#ifndef ERGON_SIM_ACTORS_H
#define ERGON_SIM_ACTORS_H

#include <stdint.h>

struct sim_burst;

void sim_call_actor(struct sim_burst *b, uint32_t client);
void sim_tell_actor(struct sim_burst *b, uint32_t client);
void sim_give(struct sim_burst *b, uint32_t client); /* one actor tells another */
void sim_start_ticker(struct sim_burst *b, uint32_t client);
void sim_read_actor(struct sim_burst *b, uint32_t client);
void sim_get_actor(struct sim_burst *b, uint32_t client);
void sim_explain_actor(struct sim_burst *b, uint32_t client);
void sim_watch_actor(struct sim_burst *b, uint32_t client);
void sim_list_actors(struct sim_burst *b, uint32_t client);
void sim_actor_types(struct sim_burst *b, uint32_t client);
void sim_stop_actor(struct sim_burst *b, uint32_t client); /* one that nobody sends anything */
void sim_start_actor(struct sim_burst *b, uint32_t client);
void sim_wake_actor(struct sim_burst *b, uint32_t client);
void sim_remind_actor(struct sim_burst *b, uint32_t client);
void sim_forget_reminder(struct sim_burst *b, uint32_t client);
void sim_drop_actor(struct sim_burst *b, uint32_t client);

#endif
