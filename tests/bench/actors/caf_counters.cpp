/* CAF's actors in one process, by one thread and without a socket: each client keeps so many requests in flight, to counters that it
 * chooses by chance.  Each line of input starts a window, whose figures are a line of JSON.
 *   caf_counters COUNTERS CLIENTS IN_FLIGHT SECONDS */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <caf/all.hpp>

using add_atom = caf::atom_constant<caf::atom("add")>;
using go_atom = caf::atom_constant<caf::atom("go")>;

struct counter_state {
    int64_t sum = 0;
};

static caf::behavior counter(caf::stateful_actor<counter_state> *self)
{
    return {[=](add_atom, int64_t n) { return self->state.sum += n; }};
}

static double seconds_of(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

static std::vector<caf::actor> counters;

struct client_state {
    std::minstd_rand random;
    uint64_t answers = 0;
    int out = 0;
    double until = 0;
    caf::response_promise done; /* of the window: how many answers there were */
};

static void ask(caf::stateful_actor<client_state> *self)
{
    client_state &s = self->state;
    s.out++;
    self->request(counters[s.random() % counters.size()], caf::infinite, add_atom::value, int64_t(1))
        .then([=](int64_t) {
            client_state &c = self->state;
            c.out--;
            if (++c.answers % 16 == 0 && seconds_of(CLOCK_MONOTONIC) > c.until)
                c.until = 0;
            if (c.until > 0)
                ask(self);
            else if (c.out == 0)
                c.done.deliver(c.answers);
        });
}

static caf::behavior client(caf::stateful_actor<client_state> *self, unsigned number, int in_flight)
{
    self->state.random.seed(number + 1);
    return {[=](go_atom, double until) {
        client_state &s = self->state;
        s.answers = 0;
        s.until = until;
        s.done = self->make_response_promise();
        for (int i = 0; i < in_flight; i++)
            ask(self);
        return s.done;
    }};
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: caf_counters COUNTERS CLIENTS IN_FLIGHT SECONDS\n");
        return 2;
    }
    double seconds = std::atof(argv[4]);
    caf::actor_system_config config;
    config.set("scheduler.max-threads", 1);
    caf::actor_system system{config};
    std::vector<caf::actor> clients;
    for (int i = 0; i < std::atoi(argv[1]); i++)
        counters.push_back(system.spawn(counter));
    for (int i = 0; i < std::atoi(argv[2]); i++)
        clients.push_back(system.spawn(client, unsigned(i), std::atoi(argv[3])));
    caf::scoped_actor self{system};
    std::puts("ready");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        double began = seconds_of(CLOCK_MONOTONIC), spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        uint64_t answers = 0;
        auto all = [&](uint64_t n) { answers += n; };
        auto failed = [&](caf::error &) { std::exit(1); };
        std::vector<decltype(self->request(clients[0], caf::infinite, go_atom::value, began))> handles;
        for (auto &c : clients)
            handles.push_back(self->request(c, caf::infinite, go_atom::value, began + seconds));
        for (auto &h : handles)
            h.receive(all, failed);
        double took = seconds_of(CLOCK_MONOTONIC) - began;
        spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - spent;
        std::printf("{\"rate\":%.1f,\"server_us\":%.4f}\n", double(answers) / took, spent * 1e6 / double(answers));
        std::fflush(stdout);
    }
    for (auto &c : clients)
        caf::anon_send_exit(c, caf::exit_reason::user_shutdown);
    for (auto &c : counters)
        caf::anon_send_exit(c, caf::exit_reason::user_shutdown);
    counters.clear();
    return 0;
}
