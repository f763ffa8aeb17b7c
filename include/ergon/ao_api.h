/* The runtime as a table: how a module, which imports nothing, reaches the functions of
 * <ergon/ao.h> and its parts.
 *
 * X(name) stands for the function ao_##name.  Append only: the order is part of the binary
 * interface.
 *
 * Constant data, for any thread.  Thread, ownership and errors of each function are said where it
 * is declared. */
#ifndef ERGON_AO_API_H
#define ERGON_AO_API_H

#include <ergon/ao.h>
#include <ergon/event.h>
#include <ergon/group.h>
#include <ergon/mailbox.h>
#include <ergon/port.h>
#include <ergon/rendezvous.h>
#include <ergon/select.h>
#include <ergon/sem_remote.h>
#include <ergon/seq.h>
#include <ergon/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AO_API(X)                                                                                  \
    X(error_text)                                                                                  \
    X(init)                                                                                        \
    X(fini)                                                                                        \
    X(activate)                                                                                    \
    X(deactivate)                                                                                  \
    X(wake)                                                                                        \
    X(sleep_for)                                                                                   \
    X(sleep_until)                                                                                 \
    X(block)                                                                                       \
    X(unblock)                                                                                     \
    X(fault)                                                                                       \
    X(reset)                                                                                       \
    X(retire)                                                                                      \
    X(state)                                                                                       \
    X(why)                                                                                         \
    X(current)                                                                                     \
    X(now)                                                                                         \
    X(handle_new)                                                                                  \
    X(handle_ref)                                                                                  \
    X(handle_unref)                                                                                \
    X(post)                                                                                        \
    X(wait_outcome_text)                                                                           \
    X(wait_prepare)                                                                                \
    X(wait_park)                                                                                   \
    X(wait_resume)                                                                                 \
    X(wait_cancel)                                                                                 \
    X(seq_sleep)                                                                                   \
    X(seq_after)                                                                                   \
    X(completion_init)                                                                             \
    X(completion_await)                                                                            \
    X(completion_complete)                                                                         \
    X(completion_close)                                                                            \
    X(event_init)                                                                                  \
    X(event_set)                                                                                   \
    X(event_reset)                                                                                 \
    X(event_is_set)                                                                                \
    X(event_await)                                                                                 \
    X(event_close)                                                                                 \
    X(group_init)                                                                                  \
    X(group_start)                                                                                 \
    X(group_await)                                                                                 \
    X(group_cancel)                                                                                \
    X(mailbox_init)                                                                                \
    X(mailbox_fini)                                                                                \
    X(mailbox_close)                                                                               \
    X(mailbox_try_send)                                                                            \
    X(mailbox_send)                                                                                \
    X(mailbox_take)                                                                                \
    X(mailbox_receive)                                                                             \
    X(mailbox_empty)                                                                               \
    X(rendezvous_init)                                                                             \
    X(rendezvous_give)                                                                             \
    X(rendezvous_take)                                                                             \
    X(rendezvous_close)                                                                            \
    X(select_begin)                                                                                \
    X(select_arm)                                                                                  \
    X(select_await)                                                                                \
    X(sem_init)                                                                                    \
    X(sem_fini)                                                                                    \
    X(sem_close)                                                                                   \
    X(sem_acquire)                                                                                 \
    X(sem_try_acquire)                                                                             \
    X(sem_release)                                                                                 \
    X(sem_waiting)                                                                                 \
    X(sem_acquire_scoped)                                                                          \
    X(permit_release)                                                                              \
    X(sem_share)                                                                                   \
    X(sem_remote_ref)                                                                              \
    X(sem_remote_unref)                                                                            \
    X(sem_remote_acquire)                                                                          \
    X(sem_remote_acquire_scoped)                                                                   \
    X(sem_remote_release)                                                                          \
    X(mailbox_share)                                                                               \
    X(mailbox_remote_close)                                                                        \
    X(mailbox_remote_ref)                                                                          \
    X(mailbox_remote_unref)                                                                        \
    X(mailbox_remote_try_send)                                                                     \
    X(mailbox_remote_send)                                                                         \
    X(wait_pend)                                                                                   \
    X(wait_settle)                                                                                 \
    X(wait_grant)                                                                                  \
    X(wait_push)                                                                                   \
    X(wait_pop)                                                                                    \
    X(wait_remove)                                                                                 \
    X(wait_close_all)                                                                              \
    X(sem_acquire_n)                                                                               \
    X(sem_try_acquire_n)                                                                           \
    X(sem_release_n)                                                                               \
    X(sem_acquire_n_scoped)                                                                        \
    X(sem_remote_acquire_n)                                                                        \
    X(sem_remote_acquire_n_scoped)                                                                 \
    X(sem_remote_release_n)                                                                        \
    X(sem_remote_new)                                                                              \
    X(sem_remote_acquire_blocking)

struct ao_api {
    uint32_t size; /* of the host's table, bytes */
#define X(name) __typeof__(ao_##name) *name;
    AO_API(X)
#undef X
};

#ifdef __cplusplus
}
#endif

#endif
