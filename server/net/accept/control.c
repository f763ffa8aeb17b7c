/* Drain, abort, reload: any thread asks for them, the acceptor does them, and tells each loop. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/net/accept/acceptor_private.h"
#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"

/* --- Any thread --- */

static void send_command(struct acceptor *a, struct command *command)
{
    mpsc_push(&a->commands, &command->item);
    ao_post(a->returns.handle, AO_POST_MESSAGE);
}

void net_drain(struct acceptor *a, void (*drained)(void *arg), void *arg)
{
    if (atomic_exchange_explicit(&a->drain_asked, true, memory_order_relaxed))
        return;
    a->drain.kind = LOOP_DRAIN;
    a->drain.drained = drained;
    a->drain.arg = arg;
    send_command(a, &a->drain);
}

void net_abort(struct acceptor *a)
{
    if (atomic_exchange_explicit(&a->abort_asked, true, memory_order_relaxed))
        return;
    a->abort.kind = LOOP_ABORT;
    send_command(a, &a->abort);
}

static void command_free(const struct acceptor *a, struct reload_command *command)
{
    for (uint32_t i = 0; i < a->loop_count; i++)
        reload_free(command->reloads[i]);
    free(command);
}

/* The listeners are fixed once the server runs: any thread may read their rules and files. */
static struct reload *make_reload(struct acceptor *a, uint32_t loop,
                                  const struct net_secrets *secrets, char *error, size_t size)
{
    struct reload *r = calloc(1, sizeof *r + a->listener_count * sizeof r->contexts[0]);

    if (r == NULL)
        return snprintf(error, size, "out of memory"), NULL;
    r->message.kind = LOOP_RELOAD;
    if (secrets != NULL) {
        r->tokens = secrets->tokens == NULL ? NULL : token_table_ref(secrets->tokens);
        r->roles = role_table_ref(secrets->roles);
        r->lower = secrets->lower;
    }
    for (uint32_t i = 0; i < a->listener_count; i++) {
        struct listener *l = a->listeners[i];
        if (l->rules.contexts == NULL)
            continue;
        struct tls_context *context =
            tls_context_new(a->links[loop].loop->tls, &l->files, error, size);
        if (context == NULL) {
            reload_free(r);
            return NULL;
        }
        r->contexts[r->count].rules = &l->rules;
        r->contexts[r->count++].context = context;
    }
    return r;
}

int net_reload(struct acceptor *a, const struct net_secrets *secrets, char *error, size_t size)
{
    struct reload_command *command =
        calloc(1, sizeof *command + a->loop_count * sizeof command->reloads[0]);

    if (command == NULL)
        return snprintf(error, size, "out of memory"), -1;
    command->command.kind = LOOP_RELOAD;
    command->left = a->loop_count;
    if (secrets != NULL) {
        command->taken = secrets->taken;
        command->arg = secrets->arg;
    }
    for (uint32_t i = 0; i < a->loop_count; i++) {
        command->reloads[i] = make_reload(a, i, secrets, error, size);
        if (command->reloads[i] == NULL) {
            command_free(a, command);
            return -1;
        }
        command->reloads[i]->command = command;
    }
    send_command(a, &command->command);
    return 0;
}

static void adopt_free(struct adopt_command *command)
{
    if (command->fd >= 0)
        close(command->fd);
    free(command);
}

int net_adopt(struct acceptor *a, uint32_t listener, int fd, const struct net_origin *from)
{
    struct adopt_command *command = calloc(1, sizeof *command);

    if (command == NULL) {
        close(fd);
        return -1;
    }
    command->command.kind = LOOP_CONNECT;
    command->fd = fd;
    command->listener = listener;
    command->from = *from;
    send_command(a, &command->command);
    return 0;
}

/* --- The acceptor --- */

static void do_adopt(struct acceptor *a, struct adopt_command *command)
{
    accept_adopted(a->listeners[command->listener], command->fd, &command->from);
    command->fd = -1;
    adopt_free(command);
}

static void do_drain(struct acceptor *a, const struct command *command)
{
    a->draining = true;
    a->drained = command->drained;
    a->drained_arg = command->arg;
    for (uint32_t i = 0; i < a->loop_count; i++)
        message_send(&a->links[i].loop->from_acceptor, &a->links[i].drain);
}

static void do_abort(struct acceptor *a)
{
    a->draining = true;
    for (uint32_t i = 0; i < a->loop_count; i++)
        message_send(&a->links[i].loop->from_acceptor, &a->links[i].abort);
}

static void do_reload(struct acceptor *a, struct reload_command *command)
{
    LIST_INSERT_HEAD(&a->reloads, command, link);
    for (uint32_t i = 0; i < a->loop_count; i++)
        message_send(&a->links[i].loop->from_acceptor, &command->reloads[i]->message);
    if (a->users != NULL)
        users_forget(a->users);
    penalties_clear(&a->penalties); /* what was wrong may have been the server's */
}

void acceptor_note_taken(struct reload *r)
{
    struct reload_command *command = r->command;

    assert(command->left > 0);
    reload_free(r);
    if (--command->left > 0)
        return;
    LIST_REMOVE(command, link);
    if (command->taken != NULL)
        command->taken(command->arg);
    free(command);
}

void acceptor_forget_reloads(struct acceptor *a)
{
    struct reload_command *command;

    while ((command = LIST_FIRST(&a->reloads)) != NULL) {
        LIST_REMOVE(command, link);
        free(command);
    }
}

void acceptor_handle_commands(struct acceptor *a)
{
    struct mpsc_item *next = NULL;

    for (struct mpsc_item *item = mpsc_take(&a->commands); item != NULL; item = next) {
        struct command *command = ao_of(item, struct command, item);
        next = item->next;
        if (command->kind == LOOP_DRAIN)
            do_drain(a, command);
        else if (command->kind == LOOP_ABORT)
            do_abort(a);
        else if (command->kind == LOOP_CONNECT)
            do_adopt(a, ao_of(command, struct adopt_command, command));
        else
            do_reload(a, ao_of(command, struct reload_command, command));
    }
}

/* Nobody waits for these: they serve. */
static uint32_t staying(const struct acceptor *a)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->loop_count; i++)
        count += atomic_load_explicit(&a->links[i].loop->staying, memory_order_relaxed);
    return count;
}

void acceptor_report_drained(struct acceptor *a)
{
    if (a->drained == NULL || a->open + a->leaving > staying(a))
        return;
    void (*drained)(void *arg) = a->drained;
    a->drained = NULL;
    drained(a->drained_arg);
}
