/* Every method of the server's own, once:
 *
 *     X(id, name, access, audit, limits, shape, params, summary)
 *
 * access   who may call it: OPEN, before authentication too, and for everybody; KNOWN, for
 *          everybody who has said who it is; GUARDED, the principal's patterns decide
 * audit    whether calling it is an administrative act, which the audit log records (rpc/trail.h):
 *          USES, no: it only reads, or concerns what is the caller's own; SUBMITS, in the name of
 *          another tenant than the caller's own; STEERS, on tasks of another tenant than its own,
 *          or on none, of who may reach such; FOREIGN, on a worker of another principal; RULES,
 *          always.  PROTOCOL.md says what is one, and tests/e2e/roles_table.py has a row of each.
 * limits   COUNTED by those of its connection; HARMLESS, what begins nothing that the connection
 *          would hold is served beyond them; HARMLESS_BARE, so if it has no parameters
 * shape    of its parameters, where they are read as those of others are: BARE, none; ID, of a
 *          task; ID_OR_FILTER, or all tasks that a map means; NAME; NAME_OF_TENANT, with whose it
 *          is.  Then operation_ID (server/jobs/operations/operation.h) answers it.  OWN: a function
 *          serve_ID of server/rpc/ reads them.
 * params, summary: for server.describe, and for who gives others.
 *
 * The order is that of server.methods. */
#ifndef ERGON_PROTO_METHODS_H
#define ERGON_PROTO_METHODS_H

#include "proto/job_options.h"

#define METHOD_OPTION(name, ...) #name " "
#define METHOD_OPTIONS           "{ " JOB_OPTIONS(METHOD_OPTION) "}"

#define METHOD_FILTER                                                                              \
    "{state, method, tenant, key, actor, batch, older, newer, all: bool, dry_run: bool}"

/* clang-format off */
#define ERGON_METHODS(X) \
    X(server_hello, "server.hello", OPEN, USES, HARMLESS, OWN, \
      "[{errors: text|pair|map, raw: bool, push: bool, half_close: bool}]", \
      "choose how this connection is answered; tells version and limits") \
    X(server_auth, "server.auth", OPEN, USES, COUNTED, OWN, \
      "[token: str]", "authenticate with a token; returns the principal") \
    X(server_ping, "server.ping", OPEN, USES, HARMLESS, OWN, \
      "[]", "answers \"pong\"") \
    X(server_cancel, "server.cancel", OPEN, USES, HARMLESS, OWN, \
      "[msgid: int]", "cancel a call of this connection") \
    X(server_info, "server.info", GUARDED, USES, COUNTED, OWN, \
      "[]", "version, uptime, connections, tasks") \
    X(server_methods, "server.methods", GUARDED, USES, COUNTED, OWN, \
      "[]", "the names of all methods") \
    X(server_describe, "server.describe", GUARDED, USES, COUNTED, OWN, \
      "[method: str]", "kind, parameters and summary of a method") \
    X(server_topology, "server.topology", GUARDED, USES, COUNTED, OWN, \
      "[]", "loops, executors with their occupancy, manager") \
    X(server_debug_dump, "server.debug_dump", GUARDED, USES, COUNTED, OWN, \
      "[stage: int, position: int, until: int]", \
      "what each loop did last: the flight recorder's rings, in parts") \
    X(server_whoami, "server.whoami", KNOWN, USES, COUNTED, OWN, \
      "[]", "who you are, and what you may do") \
    X(server_times, "server.times", GUARDED, USES, COUNTED, OWN, \
      "[{limit: int}]", "how long tasks of the busiest methods waited and ran") \
    X(server_figures, "server.figures", GUARDED, USES, COUNTED, OWN, \
      "[{seconds: int}]", "the last ten minutes of the server's figures, a sample a second") \
    X(task_submit, "task.submit", OPEN, SUBMITS, COUNTED, OWN, \
      "[method: str, [params], " METHOD_OPTIONS "]", \
      "leave a task with the server; answers its id") \
    X(task_submit_many, "task.submit_many", OPEN, SUBMITS, COUNTED, OWN, \
      "[[[method: str, [params], " METHOD_OPTIONS "], ...], " METHOD_OPTIONS "]", \
      "leave many tasks at once") \
    X(task_call, "task.call", OPEN, SUBMITS, COUNTED, OWN, \
      "[method: str, [params], " METHOD_OPTIONS "]", \
      "call a handler with options, and wait for its result") \
    X(task_get, "task.get", GUARDED, USES, COUNTED, OWN, \
      "[id: str, {result, history, params, params_text, options, attempts: bool}]", \
      "state, figures, parameters and result of a task") \
    X(task_wait, "task.wait", GUARDED, USES, COUNTED, OWN, \
      "[id: str or [ids], {timeout: duration, any: bool, result: bool}]", \
      "wait until tasks have ended") \
    X(task_watch, "task.watch", GUARDED, USES, COUNTED, OWN, \
      "[id: str, {from: int, max: int, timeout: duration, push: bool}]", \
      "the history of a task, from an event on, as it grows") \
    X(task_cancel, "task.cancel", GUARDED, STEERS, COUNTED, ID_OR_FILTER, \
      "[id: str or " METHOD_FILTER "]", \
      "cancel a task, waiting or running, or all that a filter means") \
    X(task_retry, "task.retry", GUARDED, STEERS, COUNTED, ID_OR_FILTER, \
      "[id: str or " METHOD_FILTER "]", \
      "queue a task again that failed for good, or all that a filter means") \
    X(task_forget, "task.forget", GUARDED, STEERS, COUNTED, ID_OR_FILTER, \
      "[id: str or " METHOD_FILTER "]", \
      "forget a task that has ended, or all that a filter means") \
    X(task_change, "task.change", GUARDED, STEERS, COUNTED, OWN, \
      "[id: str, {priority, delay, at}]", "give a task that waits another priority or time") \
    X(task_run_now, "task.run_now", GUARDED, STEERS, COUNTED, ID, \
      "[id: str]", "let a task that waits for a time wait for it no more") \
    X(task_list, "task.list", GUARDED, USES, COUNTED, OWN, \
      "[{state, method, tenant, key, actor, batch, older, newer, contains: str, " \
      "params_text: bool, limit, cursor}]", \
      "tasks, newest first") \
    X(task_events, "task.events", GUARDED, USES, COUNTED, OWN, \
      "[{after: str, max: int, timeout: duration, event, state, method, tenant, key}]", \
      "what happens to tasks, in one order, from a cursor on") \
    X(task_explain, "task.explain", GUARDED, USES, COUNTED, ID, \
      "[id: str]", "why a task is where it is") \
    X(queue_list, "queue.list", GUARDED, USES, COUNTED, BARE, \
      "[]", "the queues, one per method, and their figures") \
    X(queue_explain, "queue.explain", GUARDED, USES, COUNTED, NAME, \
      "[method: str]", "why a queue flows or does not") \
    X(queue_tenants, "queue.tenants", GUARDED, USES, COUNTED, OWN, \
      "[{cursor}]", \
      "what each tenant holds: open tasks, and those that have ended and are kept") \
    X(queue_pause, "queue.pause", GUARDED, RULES, COUNTED, NAME, \
      "[method: str]", "start no more of its tasks; new ones are taken") \
    X(queue_resume, "queue.resume", GUARDED, RULES, COUNTED, NAME, \
      "[method: str]", "end a pause or a drain") \
    X(queue_drain, "queue.drain", GUARDED, RULES, COUNTED, NAME, \
      "[method: str]", "take no new tasks; those that are there are run") \
    X(server_audit, "server.audit", GUARDED, USES, COUNTED, BARE, \
      "[]", "do the accounts of all tasks balance?") \
    X(cron_put, "cron.put", GUARDED, RULES, COUNTED, OWN, \
      "[name: str, schedule: str, method: str, [params], {zone, jitter, catch_up, " \
      "overlap, ...}]", \
      "submit a task by calendar") \
    X(cron_list, "cron.list", GUARDED, USES, COUNTED, BARE, \
      "[]", "the crons, and when each comes next") \
    X(cron_delete, "cron.delete", GUARDED, RULES, COUNTED, NAME_OF_TENANT, \
      "[name: str, {tenant: str}]", "forget a cron") \
    X(cron_pause, "cron.pause", GUARDED, RULES, COUNTED, NAME_OF_TENANT, \
      "[name: str, {tenant: str}]", "a cron submits nothing any more, until it is resumed") \
    X(cron_resume, "cron.resume", GUARDED, RULES, COUNTED, NAME_OF_TENANT, \
      "[name: str, {tenant: str}]", "a cron submits again, from its next time on") \
    X(cron_run, "cron.run", GUARDED, RULES, COUNTED, NAME_OF_TENANT, \
      "[name: str, {tenant: str}]", "submit the task of a cron now, beside its calendar") \
    X(sem_create, "sem.create", GUARDED, USES, COUNTED, OWN, \
      "[name: str, permits: int, {durable: str}]", \
      "make a semaphore that stays, or give it another number of permits") \
    X(sem_delete, "sem.delete", GUARDED, USES, COUNTED, OWN, \
      "[name: str]", "let a semaphore go when nobody needs it") \
    X(sem_acquire, "sem.acquire", GUARDED, USES, COUNTED, OWN, \
      "[name: str, {permits: int, of: int, wait: duration, ttl: duration, grace: " \
      "duration, durable: str}]", \
      "wait for permits of a semaphore, and hold them") \
    X(sem_release, "sem.release", GUARDED, USES, COUNTED, OWN, \
      "[name: str, hold: str]", "give back what is held") \
    X(sem_renew, "sem.renew", GUARDED, USES, COUNTED, OWN, \
      "[name: str, hold: str, {ttl: duration}]", "hold on: the time to live begins anew") \
    X(sem_resume, "sem.resume", GUARDED, USES, COUNTED, OWN, \
      "[name: str, hold: str, {ttl: duration}]", "go on holding what another connection held") \
    X(sem_list, "sem.list", GUARDED, USES, COUNTED, BARE, \
      "[]", "the semaphores, and their figures") \
    X(sem_explain, "sem.explain", GUARDED, USES, COUNTED, OWN, \
      "[name: str, {tenant: str}]", \
      "who holds permits of a semaphore or limit, and who waits") \
    X(sem_revoke, "sem.revoke", GUARDED, RULES, COUNTED, OWN, \
      "[name: str, fence: int, {tenant: str}]", \
      "take back what a client holds that is lost or stuck") \
    X(event_set, "event.set", GUARDED, USES, COUNTED, OWN, \
      "[name: str, value]", "set an event: who waits for it goes on") \
    X(event_wait, "event.wait", GUARDED, USES, COUNTED, OWN, \
      "[name: str, {from: int, timeout: duration}]", "wait until an event is set") \
    X(actor_call, "actor.call", OPEN, SUBMITS, COUNTED, OWN, \
      "[actor: str, method: str, [params], " METHOD_OPTIONS "]", \
      "send a message to an actor, and wait for its result") \
    X(actor_tell, "actor.tell", OPEN, SUBMITS, COUNTED, OWN, \
      "[actor: str, method: str, [params], " METHOD_OPTIONS "]", \
      "leave a message for an actor; answers its id") \
    X(actor_get, "actor.get", GUARDED, USES, COUNTED, OWN, \
      "[actor: str, {state: bool, tenant: str}]", "stage, state and mailbox of an actor") \
    X(actor_list, "actor.list", GUARDED, USES, COUNTED, OWN, \
      "[{type, prefix, stage, tenant, limit, cursor, sort}]", "actors, by name") \
    X(actor_watch, "actor.watch", GUARDED, USES, COUNTED, OWN, \
      "[actor: str, {from: int, timeout: duration, tenant: str}]", \
      "wait until an actor has a new version; answers its state") \
    X(actor_explain, "actor.explain", GUARDED, USES, COUNTED, OWN, \
      "[actor: str, {tenant: str}]", "why an actor does what it does, and what waits for it") \
    X(actor_start, "actor.start", GUARDED, STEERS, COUNTED, OWN, \
      "[actor: str, {reset: bool, tenant: str}]", "let an actor go on that is stopped") \
    X(actor_stop, "actor.stop", GUARDED, STEERS, COUNTED, OWN, \
      "[actor: str, {reason: str, tenant: str}]", \
      "let an actor run no message until it is started") \
    X(actor_wake, "actor.wake", GUARDED, STEERS, COUNTED, OWN, \
      "[actor: str, {tenant: str}]", "end the sleep of a stepped actor") \
    X(actor_drop, "actor.drop", GUARDED, STEERS, COUNTED, OWN, \
      "[actor: str, {tenant: str}]", "forget an actor, with its state and its mailbox") \
    X(actor_remind, "actor.remind", GUARDED, SUBMITS, COUNTED, OWN, \
      "[actor: str, name: str, method: str, [params], {in: duration, at, every: duration, " \
      "tenant: str}]", \
      "send an actor a message at a time, and again") \
    X(actor_forget, "actor.forget", GUARDED, STEERS, COUNTED, OWN, \
      "[actor: str, name: str, {tenant: str}]", "forget a reminder of an actor") \
    X(actor_types, "actor.types", GUARDED, USES, COUNTED, BARE, \
      "[]", "the types of actors, and their figures") \
    X(batch_create, "batch.create", GUARDED, USES, COUNTED, OWN, \
      "[{on_success, on_failure, on_end: [method, [params], {options}], parent: id, durable, " \
      "keep: duration, tenant}]", \
      "make a batch: tasks that belong together, and what follows their end") \
    X(batch_add, "batch.add", OPEN, SUBMITS, COUNTED, OWN, \
      "[id: str, [[method: str, [params], " METHOD_OPTIONS "], ...], " METHOD_OPTIONS "]", \
      "leave tasks that are members of a batch") \
    X(batch_close, "batch.close", GUARDED, USES, COUNTED, OWN, \
      "[id: str]", "a batch ends with its last member") \
    X(batch_get, "batch.get", GUARDED, USES, COUNTED, OWN, \
      "[id: str, {wait: duration}]", "state and counts of a batch; waits for its end") \
    X(batch_list, "batch.list", GUARDED, USES, COUNTED, OWN, \
      "[{state, tenant, parent, limit, cursor}]", "batches, newest first") \
    X(batch_cancel, "batch.cancel", GUARDED, STEERS, COUNTED, OWN, \
      "[id: str]", "cancel a batch, and all its members that are open") \
    X(cluster_status, "cluster.status", GUARDED, USES, COUNTED, OWN, \
      "[]", "the nodes, who owns the tasks, and what is wrong") \
    X(cluster_drain, "cluster.drain", GUARDED, RULES, COUNTED, OWN, \
      "[] or [node: str]", "let the owner hand the tasks over to another node") \
    X(cluster_forget, "cluster.forget", GUARDED, RULES, COUNTED, OWN, \
      "[node: str]", "drop a node that is gone from the list") \
    X(cluster_retry, "cluster.retry", GUARDED, RULES, COUNTED, OWN, \
      "[]", "let the nodes take over again after two failures") \
    X(cluster_session, "cluster.session", OPEN, USES, COUNTED, OWN, \
      "[{cluster, version, node, principal, tenant, rights, peer, hello}]", \
      "a node of the cluster says for which client its connection speaks") \
    X(cluster_board, "cluster.board", OPEN, USES, COUNTED, OWN, \
      "[node: str, epoch: int, [id: int, attempt: int, ...]]", \
      "a node that comes back says what had begun when its process died") \
    X(connection_list, "connection.list", GUARDED, USES, COUNTED, OWN, \
      "[{id, principal, nobody, address, listener, idle, limit, cursor}]", \
      "who is connected, and what they have in flight") \
    X(connection_kill, "connection.kill", GUARDED, RULES, COUNTED, OWN, \
      "[id: int] or [{id, principal, nobody, address, listener, idle, all, dry_run}]", \
      "close connections; their calls are cancelled") \
    X(worker_register, "worker.register", KNOWN, USES, COUNTED, OWN, \
      "[methods: [str], {slots, name, version, host, share, context, lease, message, secret}]", \
      "offer methods: this connection is called for them from then on") \
    X(worker_quiet, "worker.quiet", KNOWN, FOREIGN, HARMLESS_BARE, OWN, \
      "[] or [worker: str]", "give a worker no more tasks; those that it has go on") \
    X(worker_resume, "worker.resume", KNOWN, FOREIGN, HARMLESS_BARE, OWN, \
      "[] or [worker: str]", "give a quiet worker tasks again") \
    X(worker_list, "worker.list", GUARDED, USES, COUNTED, OWN, \
      "[{method, limit, cursor}]", "who works on what") \
    X(worker_progress, "worker.progress", KNOWN, USES, HARMLESS, OWN, \
      "[call: int, done, total, text]", "say how far a task is that this worker runs") \
    X(worker_partial, "worker.partial", KNOWN, USES, HARMLESS, OWN, \
      "[call: int, value]", "add a part of the result of a task that this worker runs") \
    X(worker_checkpoint, "worker.checkpoint", KNOWN, USES, HARMLESS, OWN, \
      "[call: int, value]", "keep a value for the next attempt of a task that this worker runs") \
    X(worker_submit, "worker.submit", KNOWN, USES, HARMLESS, OWN, \
      "[call: int, {task: [[method, params, {options}]], " \
      "tell: [[actor, method, params, {options}]]}]", \
      "submit tasks and messages with the end of a task that this worker runs")
/* clang-format on */

/* The name of each, as method_task_get[]. */
#define X(id, ...) extern const char method_##id[];
ERGON_METHODS(X)
#undef X

enum ergon_method {
#define X(id, ...) METHOD_##id,
    ERGON_METHODS(X)
#undef X
        METHOD_COUNT
};

#endif
