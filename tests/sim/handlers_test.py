#!/usr/bin/python3
"""Handlers with a classic fault each are found within 200 seeds, and told in words of the scenario; the same without the
fault are not.  What a module may not do ends the run with a line that says so, and a scenario that is wrong is refused.

usage: handlers_test.py SOURCE ERGON-SIM CC [SEEDS]
"""

import os
import re
import subprocess
import sys
import tempfile

FOUND_WITHIN, CORRECT = 200, 8  # seeds
LIMIT = 120  # s

LOAD = "load: [{{method: {method}, params: [{{seq: order}}], every: 100ms, for: 10s, options: {{{options}}}}}]\n"
FAULTS = "faults: {restart: 2/min, kill: 4/min, power: 1/min, latency: 1ms..100ms}\n"
ENDS = "every task of *.* ends within 1m of calm"
ONCE = "effect charge happens once for each order"
# What is wrong, the options of the faulty and of the correct one, what is expected, and what is found.
CLASSICS = [
    ("check", "retries: 5", "retries: 5", [ENDS, ONCE], r"charge happened \d times for order \d+\n"),
    ("key", "retries: 5", "retries: 5", [ENDS, ONCE], r"charge happened \d times for order \d+\n"),
    ("lock", "retries: 20", "retries: 20", [ENDS, "no task of *.* is dead"], r"task t\w+ of bad.lock has not ended; it is \w+\n"),
    ("timeout", "timeout: 200ms, retries: 2", "timeout: 10s, retries: 20", [ENDS, "no task of *.* is dead"], r"task t\w+ of bad.timeout is dead: "),
    ("order", "retries: 5, key: {seq: order}", "retries: 20, key: {seq: order}", [ENDS, "effect ship happens in order of order"], r"ship happened for order \d+ after it had for \d+\n"),
]

REFUSED = {
    "socket(2, 1, 0)": "opens a socket (socket)",
    "pthread_create(&(pthread_t){0}, 0, 0, 0)": "starts a thread (pthread_create)",
    "fork()": "starts a process (fork)",
    'system("true")': "starts a process (system)",
    "(_exit(0), 0)": "ends the process (_exit)",
    "(exit(0), 0)": "ends the process (exit)",
    "poll(&(struct pollfd){0}, 1, 5)": "waits for a descriptor (poll)",
    "pthread_rwlock_rdlock(&(pthread_rwlock_t){0})": "takes a lock of readers and writers (pthread_rwlock_",
    "mtx_lock(&(mtx_t){0})": "takes a lock of C11 (mtx_",
    "pthread_mutex_lock(&(pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP)": "takes a lock that is recursive",
}
CALLER = """#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <threads.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <ergon/handler.h>
static void run(struct ergon_task *task) { (void)task; if (%s) return; }
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "call", .summary = "", .params = "", .run = run};
ERGON_MODULE(caller_module, "caller", "1.0") { return ergon_register(module, &handler); }
"""

# All keys and faults at once, and a handler that heeds each of them.
EVERYTHING = """server: {store: true, tasks: {crashes: 3}}
load:
  - {method: good.key, params: [{seq: order}], every: 1s, for: 5m, options: {retries: 9, priority: {below: 10}, key: {seq: order}}}
  - {method: good.check, params: [{one_of: [1000, 1001]}], every: 3s, for: 1m}
crons:
  - {name: tick, schedule: every 1m, method: good.key, params: [2000], options: {catch_up: one}}
for: 30m
faults: {restart: 1/h, kill: 6/h, power: 6/h, connection_lost: 1/min, suspend: 1/h, clock: 1/h, latency: 50ms, cancel: 5%}
expect:
  - every task of good.* ends within 10m of calm
  - effect charge happens at most once for each order
"""
CHECKS = """#include <ergon/handler.h>
static unsigned runs;
static void run(struct ergon_task *task) { (void)task; runs++; }
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "count", .summary = "", .params = "", .run = run};
__attribute__((visibility("default"))) const char *ergon_sim_check(void);
const char *ergon_sim_check(void) { return runs > 299 ? "it ran all times since the last start" : 0; }
ERGON_MODULE(checks_module, "checks", "1.0") { return ergon_register(module, &handler); }
"""

# A cron that fails, beside a load that does not: when the tasks are listed, newer ones of the load are known already.
FAILS = """#include <ergon/handler.h>
static void fail(struct ergon_task *task) { ergon_fail(task, "NO", "no"); }
static void pass(struct ergon_task *task) { (void)task; }
static const struct ergon_handler bad = {.size = sizeof bad, .kind = ERGON_BLOCKING, .name = "bad", .summary = "", .params = "", .run = fail};
static const struct ergon_handler good = {.size = sizeof good, .kind = ERGON_BLOCKING, .name = "good", .summary = "", .params = "", .run = pass};
ERGON_MODULE(fails_module, "fails", "1.0") { return ergon_register(module, &bad) < 0 ? -1 : ergon_register(module, &good); }
"""
BESIDE = """load: [{method: good, every: 100ms, for: 60s}]
crons: [{name: tick, schedule: every 25s, method: bad, options: {jitter: 9s}}]
expect: [no task of bad is failed]
"""
# Calls in tail position, which an optimising compiler makes jumps: all of it is simulated time, and the lock is given back.
TAILS = """#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <ergon/handler.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void sleeps(struct ergon_task *task) { (void)task; usleep(900000000); }
static void locks(struct ergon_task *task)
{
    struct timespec until;
    (void)task;
    pthread_mutex_lock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    while (pthread_cond_clockwait(&never, &lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    usleep(100000);
    pthread_mutex_unlock(&lock);
}
static const struct ergon_handler a = {.size = sizeof a, .kind = ERGON_BLOCKING, .name = "sleeps", .summary = "", .params = "", .run = sleeps};
static const struct ergon_handler b = {.size = sizeof b, .kind = ERGON_BLOCKING, .name = "locks", .summary = "", .params = "", .run = locks};
ERGON_MODULE(tails_module, "tails", "1.0") { return ergon_register(module, &a) < 0 ? -1 : ergon_register(module, &b); }
"""

# The report of the crash asks the server, on which the other handler runs meanwhile.
BOTH = """#include <sys/socket.h>
#include <ergon/handler.h>
static enum ao_verdict crashes(struct ao *self, struct ergon_task *task, void *state)
{
    (void)self, (void)task, (void)state;
    *(volatile int *)8 = 1;
    return AO_DONE;
}
static void dials(struct ergon_task *task) { (void)task; if (socket(2, 1, 0)) return; }
static const struct ergon_handler a = {.size = sizeof a, .kind = ERGON_STEPPED, .name = "crashes", .summary = "", .params = "", .step = crashes};
static const struct ergon_handler b = {.size = sizeof b, .kind = ERGON_BLOCKING, .name = "dials", .summary = "", .params = "", .run = dials};
ERGON_MODULE(both_module, "both", "1.0") { return ergon_register(module, &a) < 0 ? -1 : ergon_register(module, &b); }
"""

# Its output and the story of the task are printed when it crashes, also where another handler ran before it.
CRASHES = """#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <ergon/handler.h>
static uint64_t order_of(struct ergon_task *task)
{
    struct ergon_reader r;
    uint64_t order = 0;
    ergon_params_open(task, &r);
    ergon_read_uint(&r, &order);
    return order;
}
static void writes(struct ergon_task *task) { printf("it is %d\\n", (int)order_of(task)); if (order_of(task) == 7) *(volatile int *)8 = 1; }
static void asserts(struct ergon_task *task) { assert(order_of(task) != 5); }
static int deeper(volatile int n) { volatile char room[1000]; room[0] = (char)n; return deeper(n + 1) + room[0]; }
static void grows(struct ergon_task *task) { if (order_of(task) > 3) deeper(1); }
static void frees(struct ergon_task *task) { void *volatile at = malloc(10); (void)task; free(at); free(at); }
#define HANDLER(run_) {.size = sizeof(struct ergon_handler), .kind = ERGON_BLOCKING, .name = #run_, .summary = "", .params = "", .run = run_}
static const struct ergon_handler all[] = {HANDLER(writes), HANDLER(asserts), HANDLER(grows), HANDLER(frees)};
ERGON_MODULE(crashes_module, "crashes", "1.0")
{
    for (int n = 0; n < 4; n++)
        if (ergon_register(module, &all[n]) < 0)
            return -1;
    return 0;
}
"""
# A semaphore that the module never gives back, as it ends with its process.
KEEPS = """#include <ergon/handler.h>
static struct ao_sem_remote *places;
static void run(struct ergon_task *task)
{
    if (!places)
        places = ergon_sem_new(task, 2);
    if (ergon_sem_acquire(task, places, 1, 20000000000) == AO_WAIT_READY)
        ao_sem_remote_release(places);
}
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "keep", .summary = "", .params = "", .run = run};
ERGON_MODULE(keeps_module, "keeps", "1.0") { return ergon_register(module, &handler); }
"""
# Conditions wait by the clock that their attributes name; a handler of 200 s would be one that waits by another.
MONOTONIC = """#include <pthread.h>
#include <time.h>
#include <ergon/handler.h>
static void wait(struct ergon_task *task)
{
    pthread_mutex_t lock;
    pthread_cond_t never;
    pthread_condattr_t how;
    struct timespec from, until;
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&never, &how);
    clock_gettime(CLOCK_MONOTONIC, &from);
    until = from;
    until.tv_sec += 2;
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&never, &lock, &until) == 0)
        ;
    pthread_mutex_unlock(&lock);
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (until.tv_sec - from.tv_sec < 2 || until.tv_sec - from.tv_sec > 20)
        ergon_fail(task, "CLOCK", "it waits by another clock");
}
static const struct ergon_handler handler = {.size = sizeof handler, .kind = ERGON_BLOCKING, .name = "wait", .summary = "", .params = "", .run = wait};
ERGON_MODULE(wait_module, "wait", "1.0") { return ergon_register(module, &handler); }
"""

# A line of a scenario, and what is said of it.
WRONG = {
    "load: [{method: a}]": ":1: a load needs method, every and for",
    "lod: []": ":1: lod: there is no such key; is it load?",
    "load: [{method: a, every: 1s, for: 2s}]\nfaults: {restrat: 1/min}": ":2: restrat: there is no such key; is it restart?",
    "load: [{method: a, every: 1s, for: 2s}]\nfaults: {restart: often}": ":2: how often belongs here",
    "load: [{method: a, every: 1s, for: 2s}]\nexpect: [all is well]": ":2: this sentence is not known; there are:",
    "load: [{method: a, every: 1s, for: 2s}]\nserver: {listen: x}": ":2: the simulation decides on listen",
    "load: [{method: a, every: 1s, for: 2s}]\nserver: {tasks: {crashs: 3}}": "crashs",
    "load: [{method: a, every: soon, for: 2s}]": ":1: a duration belongs here",
    "load: [{method: a, every: 1s, for: 2s}]\nexpect: [no task of b is dead]": ":2: no load and no cron has a method like b",
    "load: [{method: a, every: 1s, for: 2s}]\nexpect: [effect x happens once for each y]": ":2: no load draws {seq: y}",
    "load: [{method: a, every: 1s, for: 2s}]\nexpect: [every task of a ends within 0s of calm]": ":2: this sentence is not known",
    "load: [{method: a, every: 1s, for: 2s}]\nfaults: {kill: inf/min}": ":2: how often belongs here",
    "load: &a [*a, *a, *a]": "too many values, or too deeply nested",
    "load: [{method: a, every: 1s, for: 2s, params: [" + 10000 * "x" + "]}]": ":1: params or options have more than 10,000 bytes",
    "load: [": ":2: did not find expected node content",
    "expect: []": "nothing happens: write a load or crons",
    "load: [{method: a, every: 1s, for: 2s}]\nfaults: {worker_lost: 1/min}": "there are no workers",
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)


class Simulation:
    def __init__(self, source, program, compiler, folder):
        self.source, self.program, self.compiler, self.folder = source, program, compiler, folder

    def build(self, name, *sources, flag="-O0"):
        out = os.path.join(self.folder, name)
        flags = ["-shared", "-fPIC", "-Wall", "-I", os.path.join(self.source, "include"), "-I", self.source]
        done = run(self.compiler, flag, *flags, *sources, "-o", out)
        assert done.returncode == 0, done.stderr
        return out

    def build_text(self, name, text, flag="-O2"):
        source = os.path.join(self.folder, "source.c")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        return self.build(name, source, flag=flag)

    def write(self, text):
        path = os.path.join(self.folder, "scenario.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def play(self, module, scenario, seeds, *flags, first=1):
        return run(self.program, "--module", module, *flags, self.write(scenario), "--seed", str(first), "--seeds", str(seeds))


def scenario_of(method, options, expected):
    return LOAD.format(method=method, options=options) + FAULTS + "expect:\n" + "".join(f"  - {e}\n" for e in expected)


def finds_classics(sim, seeds):
    sources = os.path.join(sim.source, "tests/sim/handlers")
    module = sim.build("handlers.so", os.path.join(sources, "handlers.c"))
    stand_in = "--stand-in", sim.build("services.so", os.path.join(sources, "services.c"))
    for name, bad, good, expected, finding in CLASSICS:
        found = sim.play(module, scenario_of("bad." + name, bad, expected), FOUND_WITHIN, *stand_in)
        assert found.returncode == 1, (name, found.stdout, found.stderr)
        assert re.search(rf"^seed \d+: {finding}", found.stdout), found.stdout
        assert len(found.stdout.splitlines()) <= 18, found.stdout
        seed = re.search(r"--seed (\d+)$", found.stdout.strip())[1]
        again = run(sim.program, "--module", module, *stand_in, os.path.join(sim.folder, "scenario.yaml"), "--seed", seed)
        assert again.stdout == found.stdout, again.stdout
        print(f"bad.{name}: found by seed {seed}")
        passed = sim.play(module, scenario_of("good." + name, good, expected), seeds, *stand_in)
        assert passed.returncode == 0 and "nothing was found" in passed.stdout, (name, passed.stdout, passed.stderr)


def heeds_everything(sim):
    module, stand_in = (os.path.join(sim.folder, name) for name in ("handlers.so", "services.so"))
    done = sim.play(module, EVERYTHING, 10, "--stand-in", stand_in)
    assert done.returncode == 0, done.stdout + done.stderr
    found = sim.play(module, EVERYTHING + "  - no task of *.key is done\n", 1, "--stand-in", stand_in)
    assert re.match(r"seed 1: task t\w+ of good.key is done", found.stdout), found.stdout + found.stderr


def tells_of_effects_beside_the_sequence(sim):
    """The story of a number that is of no sequence is that of the task which reported it."""
    source = CHECKS.replace("runs++;", 'ergon_sim_effect(task, "charge", 7);').replace("handler.h>", "handler.h>\n#include <ergon/sim.h>", 1)
    scenario = f"load: [{{method: count, params: [{{seq: order}}], every: 1s, for: 3s}}]\nexpect: [{ONCE}]\n"
    found = sim.play(sim.build_text("checks.so", source), scenario, 1)
    assert re.search(r"charge happened 3 times for order 7\n(.*\n)+.* effect charge\(7\) of attempt 1\n", found.stdout), found.stdout
    assert len(re.findall(r" effect charge\(7\) of attempt 1 of task t\w+\n", found.stdout)) == 2, found.stdout


def asks_the_module(sim):
    """Its memory is that of its last start: a count of all runs would be 300."""
    module = sim.build_text("checks.so", CHECKS)
    load = "load: [{method: count, every: %s, for: 5m, options: {key: {seq: run}}}]\n"
    found = sim.play(module, load % "1s", 1)
    assert "seed 1: it ran all times since the last start" in found.stdout, found.stdout + found.stderr
    passed = sim.play(module, load % "1s" + "faults: {kill: 20/min}\n", 1)
    assert passed.returncode == 0, passed.stdout + passed.stderr


def sees_crons_beside_a_load(sim):
    module = sim.build_text("fails.so", FAILS)
    found = sim.play(module, BESIDE, 3)
    assert re.match(r"seed 1: task t\w+ of bad is failed", found.stdout), found.stdout + found.stderr
    cancelled = "load: [{method: good, every: 1s, for: 9s, options: {delay: 1h}}]\nfaults: {cancel: 100%}\n"
    cancelled += "expect: [no task of good is cancelled]\n"
    found = sim.play(module, cancelled, 1)
    assert re.match(r"seed 1: task t\w+ of good is cancelled\n", found.stdout), found.stdout + found.stderr


def tells_what_tasks_wait_for(sim):
    """Those of a server without a store are forgotten when it dies; those that are delayed say so; and a wrong configuration, method
    or option is no finding."""
    module = sim.build_text("fails.so", FAILS)
    load = "load: [{method: good, every: 1s, for: 20s, options: {delay: %s}}]\nexpect: [every task of good ends within 1m of calm]\n"
    done = sim.play(module, "server: {store: false}\nfaults: {kill: 6/min}\n" + load % "10s", 5)
    assert done.returncode == 0, done.stdout + done.stderr
    done = sim.play(module, load % "1h", 1)
    assert re.search(r" of good has not ended; it is delayed\n(.*\n)* +[0-9.]+ s  still delayed: it is due in", done.stdout), done.stdout
    for text, told in {"server: {tasks: {crashes: many}}\n" + load % "1s": "scenario.yaml: server: tasks.crashes: ",
                       "server: {limits: {message: 900m}}\n" + load % "1s": "scenario.yaml: server: limits.partial: is smaller than limits.message",
                       load.replace("good,", "goad,") % "1s": "the server refuses goad: NO_METHOD: ",
                       load.replace("delay", "dilay") % "1s": "BAD_PARAMS: "}.items():
        done = sim.play(module, text.replace("of good", "of *"), 1)
        assert done.returncode == 2 and told in done.stderr, (text, done.stdout, done.stderr)


def simulates_calls_in_tail_position(sim):
    module = sim.build_text("tails.so", TAILS, "-O2")
    scenario = "server: {executors: {blocking: {count: 4}}}\nload: [{method: sleeps, every: 2s, for: 10s}, {method: locks, every: 100ms, for: 1s}]\n"
    scenario += "expect: [every task of * ends within 2h of calm, no task of * is failed]\n"
    done = sim.play(module, scenario, 5)  # else it takes more than an hour, which LIMIT ends
    assert done.returncode == 0, done.stdout + done.stderr


def tells_times_of_the_story(sim):
    """Leaps of the wall clock change no order: a story tells what an attempt did between its begin and its end."""
    module, stand_in = (os.path.join(sim.folder, name) for name in ("handlers.so", "services.so"))
    load = "load: [{method: bad.key, params: [{seq: order}], every: 2s, for: 60s, options: {retries: 5, delay: 5s, key: {seq: order}}}]\n"
    for fault in ("clock", "suspend"):
        scenario = load + f"faults: {{{fault}: 12/min, kill: 4/min}}\nexpect: [{ONCE}]\n"
        told, first = "", 1
        # That of another seed, where a story has effects alone, or a clock that was set back behind the world's begin: then all is at 0.
        while " submitted\n" not in told or re.search(r"^ +0\.000 s  submitted", told, re.MULTILINE):
            told = sim.play(module, scenario, FOUND_WITHIN, "--stand-in", stand_in, first=first).stdout
            first = int(re.match(r"seed (\d+): ", told).group(1)) + 1
            assert first < FOUND_WITHIN, told
        assert re.search(r" submitted\n.* queued\n.* effect .* killed .* interrupted, attempt 1.* started, attempt 2\n.* effect .* done, ",
                         told, re.DOTALL), told
        at = {text: float(time) for time, text in re.findall(r"^ +([0-9.]+) s  (.*)$", told, re.MULTILINE)}
        assert at["queued"] - at["submitted"] < 9 and at["done, attempt 2"] < 150, told


def tells_the_story_of_a_crash(sim):
    module = sim.build_text("crashes.so", CRASHES)
    for method, signal in {"writes": "11 (Segmentation fault)", "asserts": "6 (Aborted)", "grows": "11 (Segmentation fault)",
                           "frees": "6 (Aborted)"}.items():
        done = sim.play(module, f"load: [{{method: {method}, params: [{{seq: order}}], every: 1s, for: 20s}}]", 1)
        assert re.search(rf"^seed 1: signal {re.escape(signal)} ended the handler of {method}, task t\w+\n.* submitted\n"
                         r".* started, attempt 1\n", done.stdout, re.MULTILINE), done.stdout + done.stderr
        assert method != "writes" or "it is 1\n" in done.stdout, done.stdout


def keeps_the_first_finding(sim):
    module = sim.build_text("both.so", BOTH)
    load = "load: [{method: crashes, every: 1s, for: 1s}, {method: dials, every: 1s, for: 1s, options: {delay: 100ms}}]"
    for seed in range(1, 4):
        done = run(sim.program, "--module", module, sim.write(load), "--seed", str(seed))
        assert re.match(rf"seed {seed}: signal 11 \(Segmentation fault\) ended the handler of crashes, task t", done.stdout), done.stdout


def has_room(sim):
    """For more than 64 threads that can run at once, 32 clients, 18 sequences, and parameters that are as long as they may be."""
    module, stand_in = (os.path.join(sim.folder, name) for name in ("handlers.so", "services.so"))
    names = ", ".join(f"{{seq: n{n}}}" for n in range(18))
    row = f"  - {{method: good.key, params: [{{seq: order}}, {names}, {'x' * 9000}], every: 1ms, for: 10ms}}\n"
    scenario = "server: {executors: {blocking: {count: 64}}}\nload:\n" + row * 32 + f"expect: [{ENDS}]\n"
    done = sim.play(module, scenario, 1, "--stand-in", stand_in)
    assert done.returncode == 0, done.stdout + done.stderr


def may_keep_memory(sim):
    scenario = "load: [{method: keep, every: 1s, for: 5s}]\nfaults: {restart: 30/min}\nexpect: [no task of keep is failed]\n"
    done = sim.play(sim.build_text("keeps.so", KEEPS), scenario, 2)
    assert done.returncode == 0, done.stdout + done.stderr


def waits_by_the_clock_of_a_condition(sim):
    scenario = "load: [{method: wait, every: 1s, for: 5s}]\nexpect: [no task of wait is failed]\n"
    done = sim.play(sim.build_text("wait.so", MONOTONIC), scenario, 5)
    assert done.returncode == 0, done.stdout + done.stderr


def tells_of_a_name_that_may_be_wrong(sim):
    module, stand_in = (os.path.join(sim.folder, name) for name in ("handlers.so", "services.so"))
    scenario = scenario_of("good.key", "retries: 5", ["effect chrage happens at most once for each order"])
    done = sim.play(module, scenario, 2, "--stand-in", stand_in)
    assert done.returncode == 0 and done.stdout.endswith("but effect chrage never happened: is that its name?\n"), done.stdout
    refuses = CHECKS.replace("return ergon_register(module, &handler)", "return -1")
    done = sim.play(sim.build_text("refuses.so", refuses), scenario, 1)
    assert done.returncode == 2 and 'module "checks" refused to be loaded' in done.stderr, done.stdout + done.stderr
    done = sim.play("/bin/sh", scenario, 1)
    assert done.returncode == 2 and "cannot load /bin/sh" in done.stderr, done.stdout + done.stderr


def refuses_calls(sim):
    for call, told in REFUSED.items():
        done = sim.play(sim.build_text("caller.so", CALLER % call), "load: [{method: call, every: 1s, for: 2s}]", 1)
        assert done.returncode == 1 and "the handler of call " + told in done.stdout, (call, done.stdout, done.stderr)
    registers = CALLER.replace("{ return ergon_register", "{ if (%s) return -1; return ergon_register", 1)
    for call, told in REFUSED.items():
        module = sim.build_text("caller.so", registers % ("0", call))
        done = sim.play(module, "load: [{method: call, every: 1s, for: 2s}]", 1)
        line = rf"the module {re.escape(module)} {re.escape(told)}.* while it registers its handlers, .*\n"
        assert done.returncode == 2 and re.fullmatch(line, done.stderr), (call, done.stdout, done.stderr)


def gives_calls_to_stand_ins(sim):
    stand_in = sim.build_text("socket.so", "int socket(int a, int b, int c); int socket(int a, int b, int c) { return a + b + c; }")
    done = sim.play(sim.build_text("caller.so", CALLER % "socket(2, 1, 0) != 3"), "load: [{method: call, every: 1s, for: 2s}]", 1, "--stand-in", stand_in)
    assert done.returncode == 0, done.stdout + done.stderr


def refuses_scenarios(sim):
    module = os.path.join(sim.folder, "caller.so")
    for text, told in WRONG.items():
        done = sim.play(module, text + "\n", 1)
        assert done.returncode == 2 and told in done.stderr, (text, done.stdout, done.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        simulation = Simulation(*sys.argv[1:4], scratch)
        finds_classics(simulation, int(sys.argv[4]) if len(sys.argv) > 4 else CORRECT)
        heeds_everything(simulation)
        sees_crons_beside_a_load(simulation)
        tells_what_tasks_wait_for(simulation)
        simulates_calls_in_tail_position(simulation)
        tells_times_of_the_story(simulation)
        tells_the_story_of_a_crash(simulation)
        keeps_the_first_finding(simulation)
        has_room(simulation)
        may_keep_memory(simulation)
        waits_by_the_clock_of_a_condition(simulation)
        tells_of_a_name_that_may_be_wrong(simulation)
        tells_of_effects_beside_the_sequence(simulation)
        asks_the_module(simulation)
        refuses_calls(simulation)
        gives_calls_to_stand_ins(simulation)
        refuses_scenarios(simulation)
