#!/bin/sh
# The long proofs, each by its name; the short ones of the same code are part of the tests.
set -eu
cd "$(dirname "$0")/.."
build=${ERGON_BUILD:-build}
# The one that the end-to-end tests are run with.
python=$(sed -n 's/^ERGON_PYTHON:[^=]*=//p' "$build/CMakeCache.txt")

# Damages to the files of a store, and to rows of actors: ERGON_DAMAGES says how many of each.
damages() {
    for test in damages actors; do
        cmake --build "$build" --target "test_damages_$test" >/dev/null
        ERGON_DAMAGES=${ERGON_DAMAGES:-10000} "$build/tests/damages/test_damages_$test" 2>"$build/damages.log" ||
            { tail -20 "$build/damages.log"; return 1; }
    done
}

# kill -9 under load, and at the begin of handlers: ERGON_KILLS says how often, ERGON_SEED of which random numbers.
kill() {
    ERGON_BUILD="$build" ERGON_KILLS=${ERGON_KILLS:-200} "$python" tests/e2e/crash_test.py
    ERGON_BUILD="$build" "$python" tests/e2e/begin_test.py
}

# Power cuts and failures at each call of the disk, under SQLite; then power cuts with pauses, priorities, limits and cancels, under
# SQLite and over a store in memory: ERGON_CUTS says how many.
cuts() {
    for test in fault power_cut; do
        cmake --build "$build" --target "test_unit_store_$test" >/dev/null
        ERGON_STRIDE=1 "$build/tests/unit/store/test_unit_store_$test"
    done
    for test in power_cut crash; do
        cmake --build "$build" --target "test_unit_jobs_$test" >/dev/null
        ERGON_CUTS=${ERGON_CUTS:-1000} "$build/tests/unit/jobs/test_unit_jobs_$test"
    done
}

# A thousand workers that are cut off at random: ERGON_FLEET says how many, ERGON_FLEET_TASKS of how many tasks.
fleet() {
    ERGON_BUILD="$build" ERGON_FLEET=${ERGON_FLEET:-1000} ERGON_FLEET_TASKS=${ERGON_FLEET_TASKS:-100000} "$python" tests/e2e/fleet_test.py
}

# Ten clients, and then ten commands, at a durable semaphore of three permits, under kill -9 of them and of the server:
# ERGON_ACQUISITIONS says of how many each.
sems() {
    ERGON_BUILD="$build" ERGON_ACQUISITIONS=${ERGON_ACQUISITIONS:-10000} "$python" tests/e2e/sem_killed_test.py
}

# A model of accounts: 50,000 random steps, ERGON_MODELS times (20). ERGON_GRAPHS graphs of calls among actors. Money that moves between
# actors, under power cuts: ERGON_CUTS says how many; and under kill -9 of the server and of their hosts, and
# full disks (root only): ERGON_KILLS and ERGON_FULL say how often, ERGON_TRANSFERS and ERGON_ACCOUNTS how much, ERGON_SEED of which
# random numbers. Then ERGON_TURNS turns of hosts that are stopped, killed and late, harmed each ERGON_HARM turns, and a deploy of
# their hosts: ERGON_CARTS says how many. And what very many take: ERGON_ACTORS, ERGON_ACTORS_BYTES, ERGON_SECONDS;
# and how they sleep and are stepped: ERGON_SLEEPERS, ERGON_STEPPERS, ERGON_STEPS.
actors() {
    cmake --build "$build" --target test_unit_jobs_money_cuts test_unit_jobs_actors_model test_unit_jobs_turn_calls money_host turns_host >/dev/null
    ERGON_GRAPHS=${ERGON_GRAPHS:-100000} "$build/tests/unit/jobs/test_unit_jobs_turn_calls"
    for seed in $(seq 1 "${ERGON_MODELS:-20}"); do
        ERGON_MODEL_FIRST=${seed}00 ERGON_MODEL_SEEDS=5 ERGON_MODEL_STEPS=5000 "$build/tests/unit/jobs/test_unit_jobs_actors_model" >/dev/null ||
            return
    done
    export ERGON_LIMIT=${ERGON_LIMIT:-600} # s: hosts of a machine that is busy come late
    ERGON_CUTS=${ERGON_CUTS:-1000} "$build/tests/unit/jobs/test_unit_jobs_money_cuts"
    ERGON_BUILD="$build" ERGON_ACCOUNTS=${ERGON_ACCOUNTS:-1000} ERGON_TRANSFERS=${ERGON_TRANSFERS:-100000} ERGON_KILLS=${ERGON_KILLS:-200} \
        ERGON_FULL=${ERGON_FULL:-3} "$python" tests/e2e/actors_money_test.py
    ERGON_BUILD="$build" ERGON_TURNS=${ERGON_TURNS:-1000000} ERGON_HARM=${ERGON_HARM:-3000} "$python" tests/e2e/actors_apart_test.py
    ERGON_BUILD="$build" ERGON_CARTS=${ERGON_CARTS:-10000} "$python" tests/e2e/actors_deploy_test.py
    ERGON_BUILD="$build" "$python" tests/e2e/actors_memory.py
    ERGON_BUILD="$build" "$python" tests/e2e/actors_steps.py
}

# Tasks that submit tasks, read results and keep checkpoints, and batches in batches, under power cuts, and under kill -9 of the server
# and of the workers: ERGON_CUTS and ERGON_KILLS say how often, ERGON_ROOTS how many tasks begin it, ERGON_TREES how many trees of three
# batches there are, ERGON_SEED of which random numbers.
compose() {
    for test in compose_cuts batches_cuts; do
        cmake --build "$build" --target "test_unit_jobs_$test" >/dev/null
        ERGON_CUTS=${ERGON_CUTS:-1000} "$build/tests/unit/jobs/test_unit_jobs_$test"
    done
    ERGON_BUILD="$build" ERGON_KILLS=${ERGON_KILLS:-200} ERGON_ROOTS=${ERGON_ROOTS:-3000} ERGON_TREES=${ERGON_TREES:-300} "$python" tests/e2e/compose_killed_test.py
}

# The same on two nodes with PostgreSQL, whose owner is killed: ERGON_KILLS says how often (25), the others are as above.
compose_cluster() { ERGON_BUILD="$build" PYTHONDONTWRITEBYTECODE=1 "$python" tests/cluster/compose.py; }

# A stop of a server that is full of each kind of thing: ERGON_KINDS says of which.
stop() { ERGON_BUILD="$build" PYTHONDONTWRITEBYTECODE=1 "$python" tests/limits/prove.py; }

# All models with all their mutants; then those of the cluster with larger bounds: ERGON_MODELS says which.
models() {
    tests/model/run.sh
    ERGON_MODEL_DEEP=1 tests/model/run.sh ${ERGON_MODELS:-marks crashes attempts lease batch}
}

# The simulation's model of PostgreSQL against a real server: ERGON_HISTORIES says how many, ERGON_SEED which is the first.
histories() {
    cmake --build "$build" --target test_sim_histories >/dev/null
    "$python" tests/support/with_postgres.py --standbys 1 --sync -- \
        "$build/tests/sim/test_sim_histories" "${ERGON_HISTORIES:-10000}" "${ERGON_SEED:-1}"
}

# The fuzzers; ./run prove fuzz takes how long and which.
fuzz() { scripts/fuzz.sh; }

# Old faults, and within how many seeds the simulation notices them; ./run prove sim takes which.
sim() { "$python" tests/sim/mutants.py; }

# Seeds of the simulated cluster, on all processors: ERGON_SEEDS says how many, ERGON_SEED which is the first; else that follows
# from the commit.  The line of each is in cluster-sim.log; what failed is printed.
cluster_sim() {
    first=${ERGON_SEED:-$((0x$(git rev-parse --short=7 HEAD | cut -c1-7)))} log=$build/cluster-sim.log
    cmake --build "$build" --target ergon-sim >/dev/null
    seq "$first" 50 "$((first + ${ERGON_SEEDS:-100000} - 1))" |
        xargs -P "$(nproc)" -I FIRST "$build/sim/ergon-sim" --cluster --seed FIRST --seeds 50 >"$log" 2>&1 || true
    printf '%s runs from seed %s on\n' "$(grep -c ': hash ' "$log")" "$first"
    ! grep -A 1 -e '^finding' -e 'to repeat it' "$log"
}

# Handlers that end, hang or exhaust the processes of their module, among others: ERGON_HARMS says how many.
modules() {
    cmake --build "$build" --target module_harm >/dev/null
    ERGON_BUILD="$build" ERGON_HARMS=${ERGON_HARMS:-1000} "$python" tests/e2e/modules_test.py Harm.test_harms_among_others
}

# Attacks of clients, each for ERGON_SECONDS: ERGON_ATTACKS says which.
attacks() { ERGON_BUILD="$build" PYTHONDONTWRITEBYTECODE=1 "$python" tests/attacks/prove.py; }

# Three nodes and a database of three under faults drawn at random: ERGON_SECONDS says how long. Needs root, for its network namespaces.
cluster() { ERGON_BUILD="$build" PYTHONDONTWRITEBYTECODE=1 "$python" tests/cluster/prove.py; }

# Submissions in transactions of applications, with applications, owners and the database killed at random: ERGON_ROWS says how many,
# ERGON_CONNECTIONS from how many.
inbox() { ERGON_BUILD="$build" PYTHONDONTWRITEBYTECODE=1 "$python" tests/cluster/inbox.py; }

# What testssl.sh says of the TLS listener.
tls() { ERGON_BUILD="$build" scripts/tls.sh; }

all="damages kill cuts fleet sems actors compose compose-cluster modules stop attacks cluster inbox tls models histories cluster-sim fuzz sim"
for name in ${*:-$all}; do
    case " $all " in
    *" $name "*) printf '\n== %s\n' "$name" && "$(echo "$name" | tr - _)" ;;
    *) echo "prove: no proof is called '$name'; there are: $all" >&2 && exit 2 ;;
    esac
done
