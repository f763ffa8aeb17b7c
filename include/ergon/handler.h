/* What a file of a module includes: plain functions over the host's table, and the door.
 *
 *     #include <ergon/handler.h>
 *
 *     static void run(struct ergon_task *task) { ergon_result_str(task, "hello", 5); }
 *
 *     static const struct ergon_handler hello = {
 *         .size = sizeof hello, .kind = ERGON_BLOCKING, .name = "hello",
 *         .summary = "greets", .params = "[]", .run = run};
 *
 *     ERGON_MODULE(hello_module, "hello", "1.0")
 *     {
 *         return ergon_register(module, &hello);
 *     }
 *
 * Build it as a shared object with -fPIC -fvisibility=hidden; nothing is linked: `cc -shared
 * $(pkg-config --cflags ergon-module) hello.c -o hello.so`.
 *
 * Thread, ownership and errors of each function stand beside its entry in struct ergon_host of
 * <ergon/module.h>, those of the ao_ functions in <ergon/ao.h> and its parts. */
#ifndef ERGON_HANDLER_H
#define ERGON_HANDLER_H

#include <stdio.h>
#include <string.h>

#include <ergon/ao_api.h>
#include <ergon/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The host's table: one a module, set before its init runs. */
extern const struct ergon_host *ergon_host __attribute__((visibility("hidden")));

/* Defines the module; its init follows as a function body that sees `module`.  `ident` is a C name.
 * A module that is linked into the server (ERGON_BUILTIN) shares the host pointer with the others
 * and is found by its ident. */
#ifdef ERGON_BUILTIN
#define ERGON_MODULE_DOOR(ident) const struct ergon_module_info *const ident = &ident##_info;
#else
#define ERGON_MODULE_DOOR(ident)                                                                   \
    const struct ergon_host *ergon_host;                                                           \
    __attribute__((visibility("default"))) const struct ergon_module_info *ergon_module(void)      \
    {                                                                                              \
        return &ident##_info;                                                                      \
    }
#endif

#define ERGON_MODULE(ident, module_name, module_version)                                           \
    static int ident##_register(struct ergon_module *module);                                      \
    static int ident##_init(struct ergon_module *module, const struct ergon_host *host)            \
    {                                                                                              \
        ergon_host = host;                                                                         \
        return ident##_register(module);                                                           \
    }                                                                                              \
    static const struct ergon_module_info ident##_info = {                                         \
        .size = sizeof(struct ergon_module_info),                                                  \
        .abi_major = ERGON_ABI_MAJOR,                                                              \
        .abi_minor = ERGON_ABI_MINOR,                                                              \
        .name = (module_name),                                                                     \
        .version = (module_version),                                                               \
        .init = ident##_init,                                                                      \
    };                                                                                             \
    ERGON_MODULE_DOOR(ident)                                                                       \
    static int ident##_register(struct ergon_module *module)

#ifndef ERGON_BUILTIN
const struct ergon_module_info *ergon_module(void);
#endif

static inline int ergon_register(struct ergon_module *module, const struct ergon_handler *handler)
{
    return ergon_host->register_handler(module, handler);
}

static inline void ergon_log(int level, const char *module, const char *text)
{
    ergon_host->log(level, module, text);
}

static inline struct ergon_bytes ergon_params(struct ergon_task *task)
{
    return ergon_host->params(task);
}

static inline uint32_t ergon_params_open(struct ergon_task *task, struct ergon_reader *reader)
{
    return ergon_host->params_open(task, reader);
}

static inline bool ergon_read_nil(struct ergon_reader *r)
{
    return ergon_host->read_nil(r);
}

static inline bool ergon_read_bool(struct ergon_reader *r, bool *out)
{
    return ergon_host->read_bool(r, out);
}

static inline bool ergon_read_int(struct ergon_reader *r, int64_t *out)
{
    return ergon_host->read_int(r, out);
}

static inline bool ergon_read_uint(struct ergon_reader *r, uint64_t *out)
{
    return ergon_host->read_uint(r, out);
}

static inline bool ergon_read_number(struct ergon_reader *r, double *out)
{
    return ergon_host->read_number(r, out);
}

static inline bool ergon_read_bytes(struct ergon_reader *r, struct ergon_bytes *out)
{
    return ergon_host->read_bytes(r, out);
}

static inline bool ergon_read_array(struct ergon_reader *r, uint32_t *count)
{
    return ergon_host->read_array(r, count);
}

static inline bool ergon_read_map(struct ergon_reader *r, uint32_t *pairs)
{
    return ergon_host->read_map(r, pairs);
}

static inline bool ergon_read_any(struct ergon_reader *r, struct ergon_bytes *raw)
{
    return ergon_host->read_any(r, raw);
}

static inline bool ergon_read_duration(struct ergon_reader *r, uint64_t *ns)
{
    return ergon_host->read_duration(r, ns);
}

static inline bool ergon_read_size(struct ergon_reader *r, uint64_t *bytes)
{
    return ergon_host->read_size(r, bytes);
}

static inline bool ergon_result_nil(struct ergon_task *task)
{
    return ergon_host->result_nil(task);
}

static inline bool ergon_result_bool(struct ergon_task *task, bool v)
{
    return ergon_host->result_bool(task, v);
}

static inline bool ergon_result_int(struct ergon_task *task, int64_t v)
{
    return ergon_host->result_int(task, v);
}

static inline bool ergon_result_double(struct ergon_task *task, double v)
{
    return ergon_host->result_double(task, v);
}

static inline bool ergon_result_str(struct ergon_task *task, const void *text, size_t len)
{
    return ergon_host->result_str(task, text, len);
}

static inline bool ergon_result_bin(struct ergon_task *task, const void *bytes, size_t len)
{
    return ergon_host->result_bin(task, bytes, len);
}

static inline bool ergon_result_raw(struct ergon_task *task, const void *value, size_t len)
{
    return ergon_host->result_raw(task, value, len);
}

static inline uint8_t *ergon_result_room(struct ergon_task *task, size_t size)
{
    return ergon_host->result_room(task, size);
}

static inline void ergon_result_done(struct ergon_task *task, size_t len)
{
    ergon_host->result_done(task, len);
}

static inline int ergon_result_write(void *task, const char *bytes, size_t len)
{
    return ergon_host->result_write(task, bytes, len);
}

static inline void ergon_fail(struct ergon_task *task, const char *code, const char *text)
{
    ergon_host->fail(task, code, text);
}

static inline void *ergon_arg(struct ergon_task *task)
{
    return ergon_host->arg(task);
}

static inline bool ergon_cancelled(struct ergon_task *task)
{
    return ergon_host->cancelled(task);
}

static inline uint64_t ergon_time_left(struct ergon_task *task)
{
    return ergon_host->time_left(task);
}

static inline uint64_t ergon_now(struct ergon_task *task)
{
    return ergon_host->now(task);
}

static inline uint64_t ergon_message_max(struct ergon_task *task)
{
    return ergon_host->message_max(task);
}

static inline void *ergon_alloc(struct ergon_task *task, size_t size)
{
    return ergon_host->alloc(task, size);
}

static inline void ergon_call(struct ergon_task *task, const char *method,
                              struct ergon_bytes params, struct ergon_outcome *out)
{
    ergon_host->call(task, method, params, out);
}

static inline struct ergon_call *ergon_call_start(struct ergon_task *task, const char *method,
                                                  struct ergon_bytes params)
{
    return ergon_host->call_start(task, method, params);
}

static inline bool ergon_call_await(struct ergon_call *call, struct ao_wait *wait)
{
    return ergon_host->call_await(call, wait);
}

static inline void ergon_call_outcome(struct ergon_call *call, struct ergon_outcome *out)
{
    ergon_host->call_outcome(call, out);
}

static inline struct ao_port *ergon_port(struct ergon_task *task)
{
    return ergon_host->port(task);
}

static inline bool ergon_task_id(struct ergon_task *task, char buf[ERGON_TASK_ID_SIZE])
{
    return ergon_host->task_id(task, buf);
}

static inline uint32_t ergon_attempt(struct ergon_task *task)
{
    return ergon_host->attempt(task);
}

static inline bool ergon_progress(struct ergon_task *task, uint64_t done, uint64_t total,
                                  const char *text)
{
    return ergon_host->progress(task, done, total, text);
}

static inline bool ergon_partial(struct ergon_task *task, const void *value, size_t len)
{
    return ergon_host->partial(task, value, len);
}

static inline void ergon_again(struct ergon_task *task, uint64_t ns)
{
    ergon_host->again(task, ns);
}

static inline struct ao_sem_remote *ergon_sem_new(struct ergon_task *task, uint32_t permits)
{
    return ergon_host->sem_new(task, permits);
}

static inline enum ao_wait_outcome ergon_sem_acquire(struct ergon_task *task,
                                                     struct ao_sem_remote *sem, uint32_t permits,
                                                     uint64_t limit)
{
    return ergon_host->sem_acquire(task, sem, permits, limit);
}

static inline bool ergon_traceparent(struct ergon_task *task, char buf[ERGON_TRACEPARENT_SIZE])
{
    return ergon_host->traceparent(task, buf);
}

/* Ends the task as failed, with a text like printf's. */
#define ergon_failf(task, code, ...)                                                               \
    do {                                                                                           \
        char ergon_text_[400];                                                                     \
        snprintf(ergon_text_, sizeof ergon_text_, __VA_ARGS__);                                    \
        ergon_fail((task), (code), ergon_text_);                                                   \
    } while (0)

/* The runtime's functions, through the table.  Only a call is replaced: `enum ao_state` stays what
 * it is. */
#define ao_error_text(...)                (ergon_host->ao->error_text(__VA_ARGS__))
#define ao_init(...)                      (ergon_host->ao->init(__VA_ARGS__))
#define ao_fini(...)                      (ergon_host->ao->fini(__VA_ARGS__))
#define ao_activate(...)                  (ergon_host->ao->activate(__VA_ARGS__))
#define ao_deactivate(...)                (ergon_host->ao->deactivate(__VA_ARGS__))
#define ao_wake(...)                      (ergon_host->ao->wake(__VA_ARGS__))
#define ao_sleep_for(...)                 (ergon_host->ao->sleep_for(__VA_ARGS__))
#define ao_sleep_until(...)               (ergon_host->ao->sleep_until(__VA_ARGS__))
#define ao_block(...)                     (ergon_host->ao->block(__VA_ARGS__))
#define ao_unblock(...)                   (ergon_host->ao->unblock(__VA_ARGS__))
#define ao_fault(...)                     (ergon_host->ao->fault(__VA_ARGS__))
#define ao_reset(...)                     (ergon_host->ao->reset(__VA_ARGS__))
#define ao_retire(...)                    (ergon_host->ao->retire(__VA_ARGS__))
#define ao_state(...)                     (ergon_host->ao->state(__VA_ARGS__))
#define ao_why(...)                       (ergon_host->ao->why(__VA_ARGS__))
#define ao_current(...)                   (ergon_host->ao->current(__VA_ARGS__))
#define ao_now(...)                       (ergon_host->ao->now(__VA_ARGS__))
#define ao_handle_new(...)                (ergon_host->ao->handle_new(__VA_ARGS__))
#define ao_handle_ref(...)                (ergon_host->ao->handle_ref(__VA_ARGS__))
#define ao_handle_unref(...)              (ergon_host->ao->handle_unref(__VA_ARGS__))
#define ao_post(...)                      (ergon_host->ao->post(__VA_ARGS__))
#define ao_wait_outcome_text(...)         (ergon_host->ao->wait_outcome_text(__VA_ARGS__))
#define ao_wait_prepare(...)              (ergon_host->ao->wait_prepare(__VA_ARGS__))
#define ao_wait_park(...)                 (ergon_host->ao->wait_park(__VA_ARGS__))
#define ao_wait_resume(...)               (ergon_host->ao->wait_resume(__VA_ARGS__))
#define ao_wait_cancel(...)               (ergon_host->ao->wait_cancel(__VA_ARGS__))
#define ao_seq_sleep(...)                 (ergon_host->ao->seq_sleep(__VA_ARGS__))
#define ao_seq_after(...)                 (ergon_host->ao->seq_after(__VA_ARGS__))
#define ao_completion_init(...)           (ergon_host->ao->completion_init(__VA_ARGS__))
#define ao_completion_await(...)          (ergon_host->ao->completion_await(__VA_ARGS__))
#define ao_completion_complete(...)       (ergon_host->ao->completion_complete(__VA_ARGS__))
#define ao_completion_close(...)          (ergon_host->ao->completion_close(__VA_ARGS__))
#define ao_event_init(...)                (ergon_host->ao->event_init(__VA_ARGS__))
#define ao_event_set(...)                 (ergon_host->ao->event_set(__VA_ARGS__))
#define ao_event_reset(...)               (ergon_host->ao->event_reset(__VA_ARGS__))
#define ao_event_is_set(...)              (ergon_host->ao->event_is_set(__VA_ARGS__))
#define ao_event_await(...)               (ergon_host->ao->event_await(__VA_ARGS__))
#define ao_event_close(...)               (ergon_host->ao->event_close(__VA_ARGS__))
#define ao_group_init(...)                (ergon_host->ao->group_init(__VA_ARGS__))
#define ao_group_start(...)               (ergon_host->ao->group_start(__VA_ARGS__))
#define ao_group_await(...)               (ergon_host->ao->group_await(__VA_ARGS__))
#define ao_group_cancel(...)              (ergon_host->ao->group_cancel(__VA_ARGS__))
#define ao_mailbox_init(...)              (ergon_host->ao->mailbox_init(__VA_ARGS__))
#define ao_mailbox_fini(...)              (ergon_host->ao->mailbox_fini(__VA_ARGS__))
#define ao_mailbox_close(...)             (ergon_host->ao->mailbox_close(__VA_ARGS__))
#define ao_mailbox_try_send(...)          (ergon_host->ao->mailbox_try_send(__VA_ARGS__))
#define ao_mailbox_send(...)              (ergon_host->ao->mailbox_send(__VA_ARGS__))
#define ao_mailbox_take(...)              (ergon_host->ao->mailbox_take(__VA_ARGS__))
#define ao_mailbox_receive(...)           (ergon_host->ao->mailbox_receive(__VA_ARGS__))
#define ao_mailbox_empty(...)             (ergon_host->ao->mailbox_empty(__VA_ARGS__))
#define ao_rendezvous_init(...)           (ergon_host->ao->rendezvous_init(__VA_ARGS__))
#define ao_rendezvous_give(...)           (ergon_host->ao->rendezvous_give(__VA_ARGS__))
#define ao_rendezvous_take(...)           (ergon_host->ao->rendezvous_take(__VA_ARGS__))
#define ao_rendezvous_close(...)          (ergon_host->ao->rendezvous_close(__VA_ARGS__))
#define ao_select_begin(...)              (ergon_host->ao->select_begin(__VA_ARGS__))
#define ao_select_arm(...)                (ergon_host->ao->select_arm(__VA_ARGS__))
#define ao_select_await(...)              (ergon_host->ao->select_await(__VA_ARGS__))
#define ao_sem_init(...)                  (ergon_host->ao->sem_init(__VA_ARGS__))
#define ao_sem_fini(...)                  (ergon_host->ao->sem_fini(__VA_ARGS__))
#define ao_sem_close(...)                 (ergon_host->ao->sem_close(__VA_ARGS__))
#define ao_sem_acquire(...)               (ergon_host->ao->sem_acquire(__VA_ARGS__))
#define ao_sem_try_acquire(...)           (ergon_host->ao->sem_try_acquire(__VA_ARGS__))
#define ao_sem_release(...)               (ergon_host->ao->sem_release(__VA_ARGS__))
#define ao_sem_waiting(...)               (ergon_host->ao->sem_waiting(__VA_ARGS__))
#define ao_sem_acquire_scoped(...)        (ergon_host->ao->sem_acquire_scoped(__VA_ARGS__))
#define ao_permit_release(...)            (ergon_host->ao->permit_release(__VA_ARGS__))
#define ao_sem_share(...)                 (ergon_host->ao->sem_share(__VA_ARGS__))
#define ao_sem_remote_ref(...)            (ergon_host->ao->sem_remote_ref(__VA_ARGS__))
#define ao_sem_remote_unref(...)          (ergon_host->ao->sem_remote_unref(__VA_ARGS__))
#define ao_sem_remote_acquire(...)        (ergon_host->ao->sem_remote_acquire(__VA_ARGS__))
#define ao_sem_remote_acquire_scoped(...) (ergon_host->ao->sem_remote_acquire_scoped(__VA_ARGS__))
#define ao_sem_remote_release(...)        (ergon_host->ao->sem_remote_release(__VA_ARGS__))
#define ao_mailbox_share(...)             (ergon_host->ao->mailbox_share(__VA_ARGS__))
#define ao_mailbox_remote_close(...)      (ergon_host->ao->mailbox_remote_close(__VA_ARGS__))
#define ao_mailbox_remote_ref(...)        (ergon_host->ao->mailbox_remote_ref(__VA_ARGS__))
#define ao_mailbox_remote_unref(...)      (ergon_host->ao->mailbox_remote_unref(__VA_ARGS__))
#define ao_mailbox_remote_try_send(...)   (ergon_host->ao->mailbox_remote_try_send(__VA_ARGS__))
#define ao_mailbox_remote_send(...)       (ergon_host->ao->mailbox_remote_send(__VA_ARGS__))
#define ao_wait_pend(...)                 (ergon_host->ao->wait_pend(__VA_ARGS__))
#define ao_wait_settle(...)               (ergon_host->ao->wait_settle(__VA_ARGS__))
#define ao_wait_grant(...)                (ergon_host->ao->wait_grant(__VA_ARGS__))
#define ao_wait_push(...)                 (ergon_host->ao->wait_push(__VA_ARGS__))
#define ao_wait_pop(...)                  (ergon_host->ao->wait_pop(__VA_ARGS__))
#define ao_wait_remove(...)               (ergon_host->ao->wait_remove(__VA_ARGS__))
#define ao_wait_close_all(...)            (ergon_host->ao->wait_close_all(__VA_ARGS__))
#define ao_sem_acquire_n(...)             (ergon_host->ao->sem_acquire_n(__VA_ARGS__))
#define ao_sem_try_acquire_n(...)         (ergon_host->ao->sem_try_acquire_n(__VA_ARGS__))
#define ao_sem_release_n(...)             (ergon_host->ao->sem_release_n(__VA_ARGS__))
#define ao_sem_acquire_n_scoped(...)      (ergon_host->ao->sem_acquire_n_scoped(__VA_ARGS__))
#define ao_sem_remote_acquire_n(...)      (ergon_host->ao->sem_remote_acquire_n(__VA_ARGS__))
#define ao_sem_remote_acquire_n_scoped(...)                                                        \
    (ergon_host->ao->sem_remote_acquire_n_scoped(__VA_ARGS__))
#define ao_sem_remote_release_n(...) (ergon_host->ao->sem_remote_release_n(__VA_ARGS__))
#define ao_sem_remote_new(...)       (ergon_host->ao->sem_remote_new(__VA_ARGS__))
#define ao_sem_remote_acquire_blocking(...)                                                        \
    (ergon_host->ao->sem_remote_acquire_blocking(__VA_ARGS__))

#ifdef __cplusplus
}
#endif

#include <ergon/attempt.h>
/* Behind ergon_params(), which it has a macro for. */
#include <ergon/params.h>

#endif
