/* A server of connections alone, with a port that echoes: what the network costs without tasks.
 *
 *     net_echo LOOPS URL [CERT KEY [CA]]      prints the URL; ends at SIGTERM, drained */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "server/accounts/tally.h"
#include "server/net/net.h"
#include "tests/support/echo_port.h"

enum { LOOPS_MAX = 8 };

struct loop {
    struct poller *poller;
    struct activator *activator;
    struct net_loop *net;
    struct tally_book tallies;
    struct echo_port port;
    pthread_t thread;
};

static struct accounts *accounts;
static struct loop loops[LOOPS_MAX];
static uint32_t loop_count;

static void *run(void *arg)
{
    struct loop *l = arg;

    activator_run(l->activator);
    return NULL;
}

static void on_drained(void *arg)
{
    for (uint32_t i = 0; i < loop_count; i++)
        activator_stop(loops[i].activator);
}

static const struct net_limits limits = {
    .scan = {.message_max = 16u << 20, .depth_max = 32},
    .in_flight = 1024,
    .output_max = 16u << 20,
    .partial = {.shared = 256u << 20, .own = 1 << 20},
    .handshake_timeout = AO_S(10),
    .auth_failures = 3,
};

static void build(struct loop *l, uint32_t index)
{
    l->poller = poller_libevent_new();
    l->activator = activator_open(
        &(struct activator_options){.name = "loop", .poller = l->poller, .core = -1});
    tally_book_init(&l->tallies, accounts, l->activator);
    l->net = net_loop_new(&(struct net_loop_options){.index = index,
                                                     .activator = l->activator,
                                                     .poller = l->poller,
                                                     .limits = &limits,
                                                     .port = echo_port(&l->port),
                                                     .tallies = &l->tallies});
}

static void wait_for_signal(void)
{
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigwait(&set, &number);
}

int main(int argc, char **argv)
{
    struct net_loop *nets[LOOPS_MAX];
    char error[256];
    sigset_t set;

    if (argc < 3 || (loop_count = (uint32_t)atoi(argv[1])) < 1 || loop_count > LOOPS_MAX)
        return fprintf(stderr, "usage: net_echo LOOPS URL [CERT KEY [CA]]\n"), 2;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    accounts = accounts_new(&unlimited_accounts, (uint64_t[2]){1, 2});
    for (uint32_t i = 0; i < loop_count; i++) {
        build(&loops[i], i);
        nets[i] = loops[i].net;
    }
    struct acceptor *a = acceptor_new(nets, loop_count, &limits);
    struct listener_options options = {.url = argv[2], .unix_mode = 0600};
    if (argc >= 5)
        options.tls = (struct tls_files){.cert = argv[3], .key = argv[4]};
    if (argc >= 6) {
        options.auth = LISTENER_AUTH_CERT;
        options.tls.client_ca = argv[5];
        options.tls.client_cert = CLIENT_CERT_OPTIONAL;
    }
    if (acceptor_listen(a, &options, error, sizeof error) != 0)
        return fprintf(stderr, "net_echo: %s\n", error), 1;
    for (uint32_t i = 0; i < loop_count; i++)
        pthread_create(&loops[i].thread, NULL, run, &loops[i]);
    printf("%s\n", acceptor_url(a, 0));
    fflush(stdout);
    wait_for_signal();
    net_drain(a, on_drained, NULL);
    for (uint32_t i = 0; i < loop_count; i++)
        pthread_join(loops[i].thread, NULL);
    acceptor_free(a);
    for (uint32_t i = 0; i < loop_count; i++) {
        net_loop_free(loops[i].net);
        tally_book_fini(&loops[i].tallies);
        activator_close(loops[i].activator);
        poller_libevent_free(loops[i].poller);
    }
    accounts_free(accounts);
    return 0;
}
