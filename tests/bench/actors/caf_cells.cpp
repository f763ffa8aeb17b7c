/* CAF's actors, each with a state of 32 bytes, in a table by a key of 16; each is called once.
 *   caf_cells CELLS */
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <unordered_map>

#include <caf/all.hpp>

struct cell_state {
    char kept[32] = {0};
};

static caf::behavior cell(caf::stateful_actor<cell_state> *self)
{
    return {[=](int64_t n) {
        self->state.kept[0] = char(n);
        return n;
    }};
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    caf::actor_system_config config;
    config.set("scheduler.max-threads", 1);
    caf::actor_system system{config};
    caf::scoped_actor self{system};
    std::unordered_map<std::string, caf::actor> cells;
    std::puts("empty");
    std::fflush(stdout);
    for (long i = 0; i < std::atol(argv[1]); i++) {
        char key[17];
        std::snprintf(key, sizeof key, "%016ld", i);
        caf::actor made = system.spawn(cell);
        cells.emplace(key, made);
        self->request(made, caf::infinite, int64_t(i))
            .receive([](int64_t) {}, [](caf::error &) { std::exit(1); });
    }
    std::puts("full");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
    std::_Exit(0);
}
