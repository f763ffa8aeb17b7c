"""What breaks under prove.py.  Three threads draw faults at the same time: of nodes, of the network between nodes and to the
engine, and of the engine (PostgreSQL, Patroni, etcd and their machines), of which one machine at a time is ill.

Each public method of a kind is a fault: it does it, lets it last, and ends it.
"""
import inspect
import os
import random
import signal
import threading
import time

from harness import RemoteError
from patroni import Refused
from postgres import psycopg2

SAID = 60  # seconds between two lines that say how many there were
LASTS = (0.2, 1, 3, 12)  # seconds that something is broken
FORSAKEN = 10  # seconds after which an owner gives up a connection on which no answer comes
PAUSES = (0.5, 4)  # seconds between two faults of a thread
STUCK = 60  # seconds after which a standby that does not stream is made anew
TAKEN_OVER = 60  # seconds within which another node owns the tasks, also where all had to find another primary
RECOVERY = 300  # seconds within which all works again after a fault
# Until one of the backends waits for a lock, for so many seconds at most.
WAIT_FOR_LOCK = """DO $$ BEGIN
    WHILE clock_timestamp() < now() + make_interval(secs => %d) LOOP
        IF EXISTS (SELECT FROM pg_locks WHERE NOT granted AND pid IN (%s)) THEN RETURN; END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RAISE EXCEPTION 'no batch waited for a lock';
END $$"""
LEAPS = (1500, 3000, 7000, 30000)  # ms; from 10 s on a node does not own


class Faults:
    tag = 0  # of what it cuts

    def __init__(self, engine, cluster, history, seed, wanted):
        self._engine, self._cluster, self._history, self._network = engine, cluster, history, engine.network
        self._random, self._over = random.Random(f"{seed} {type(self).__name__}"), threading.Event()
        self._names = [name for name in self.names() if not wanted or name in wanted]
        self.failure, self.done = None, {}

    @classmethod
    def names(cls):
        return [name for name, _ in inspect.getmembers(cls, inspect.isfunction)
                if not name.startswith("_") and name not in vars(Faults)]

    def run(self):
        try:
            while self._names and not self._over.is_set():
                self._draw(self._random.choice(self._names))
                self._over.wait(self._random.uniform(*PAUSES))
        except Exception as e:  # draw() returns it
            self.failure = e

    def _draw(self, name):
        begun = time.monotonic()
        try:
            getattr(self, name)()
            self.done[name] = self.done.get(name, 0) + 1
            said = ""
        except (OSError, RemoteError, psycopg2.Error, Refused) as e:  # another fault came first
            said = f": did not happen: {str(e).partition(chr(10))[0]}"
        self._recover()
        print(f"{time.strftime('%H:%M:%S')} {name}{said} ({time.monotonic() - begun:.1f} s)", flush=True)

    def count(self):
        return sum(self.done.values())

    def stop(self):
        self._over.set()

    def _last(self):
        self._over.wait(self._random.choice(LASTS))

    def _eventually(self, limit, condition):
        """Waits for so long at most; was it so?"""
        end = time.monotonic() + limit
        while time.monotonic() < end and not self._over.is_set():
            if condition():
                return True
            time.sleep(0.02)
        return False

    def _owner(self):
        return self._cluster.wait_owner(limit=RECOVERY)

    def _other_owner(self, former):
        return any(node is not former and node.is_running() and node.status().get("role") == "owner"
                   for node in self._cluster.nodes)

    def _front(self):
        owner = self._owner()
        return self._random.choice([node for node in self._cluster.nodes if node is not owner])

    def _recover(self):
        self._owner()

    @staticmethod
    def _backends(node, primary, condition="true"):
        return primary.query(f"SELECT pid FROM pg_stat_activity WHERE client_addr = %s::inet AND {condition}",
                             (node.machine.address,))

    def _writers(self, owner, primary, condition="true"):
        """The backends of an owner but that of its renewals."""
        return self._backends(owner, primary, f"query NOT LIKE '%%ergon.nodes%%' AND {condition}")

    def _renewals(self, owner, primary):
        return self._backends(owner, primary, "query LIKE '%%ergon.nodes%%'")

    @staticmethod
    def _signal(backends, number):
        for (pid,) in backends:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # it has ended


class OfNodes(Faults):
    def kill_owner(self):
        owner = self._owner()
        owner.kill()
        self._last()
        owner.start()

    def lose_owner(self):
        """Its machine is lost, and comes back with an empty disk."""
        owner = self._owner()
        owner.kill()
        owner.forget()
        self._last()
        owner.start()

    def kill_owner_that_cannot_write(self):
        """Its backend reads nothing for a while.  What the owner did in this time is lost with it, but for what was sent."""
        owner, primary = self._owner(), self._engine.wait_primary()
        writers = self._writers(owner, primary)
        self._signal(writers, signal.SIGSTOP)
        self._over.wait(self._random.choice(LASTS[1:3]))
        owner.kill()
        self._signal(writers, signal.SIGCONT)
        self._last()
        owner.start()

    def kill_front(self):
        front = self._front()
        front.kill()
        self._last()
        front.start()

    def stop_owner(self):
        self._stop(self._owner())

    def stop_front(self):
        self._stop(self._front())

    def _stop(self, node):
        process = node.server.process
        process.send_signal(signal.SIGSTOP)
        self._last()
        self._history.go_on(node.name)
        process.send_signal(signal.SIGCONT)

    def drain(self):
        with self._owner().connect() as client:
            client.call("cluster.drain")

    def leap_of_owner(self):
        self._leap(self._owner())

    def leap_of_front(self):
        self._leap(self._front())

    def _leap(self, node):
        ahead = node.ahead
        for to in (ahead + self._random.choice(LEAPS) * self._random.choice([1, -1]), ahead):
            self._history.leap(node.name)
            node.set_clock(to)
            self._last()


class OfNetwork(Faults):
    tag = 1

    def _heal(self):
        self._last()
        self._network.heal(self.tag)

    def cut_owner(self):
        self._network.cut(self._owner().machine, tag=self.tag)
        self._heal()

    def cut_front(self):
        self._network.cut(self._front().machine, tag=self.tag)
        self._heal()

    def cut_owner_from_engine(self):
        owner = self._owner()
        for member in self._engine.members:
            self._network.cut(owner.machine, member.machine, tag=self.tag)
        self._heal()

    def lose_what_the_engine_says(self):
        owner = self._owner()
        for member in self._engine.members:
            self._network.lose(member.machine, owner.machine, tag=self.tag)
        self._heal()

    def lose_what_the_owner_says(self):
        owner = self._owner()
        for member in self._engine.members:
            self._network.lose(owner.machine, member.machine, tag=self.tag)
        self._heal()

    def cut_owner_from_front(self):
        self._network.cut(self._owner().machine, self._front().machine, tag=self.tag)
        self._heal()

    def lose_what_a_front_says(self):
        self._network.lose(self._front().machine, self._owner().machine, tag=self.tag)
        self._heal()


class OfEngine(Faults):
    tag = 2

    def _recover(self):
        """Does for Patroni 3.0 what its operator has to do.  Two members may begin a timeline of the same number, one after the
        other, the first for a moment and without a standby: it never follows the second (patronictl reinit).  Nor does one whose
        timeline went on beyond the point where the next began, and which may hold the leader's lock.  And a primary
        whose watch of etcd has ended unnoticed names no synchronous standby any more (systemctl restart patroni)."""
        try:
            self._engine.wait_standbys(limit=STUCK)
        except AssertionError:
            stuck = self._engine.diverged() or self._engine.stuck()
            for member in stuck:
                print(f"{time.strftime('%H:%M:%S')} {member.name} follows nobody, and is made anew", flush=True)
                member.make_anew()
            if not stuck:
                primary = self._engine.wait_primary()
                print(f"{time.strftime('%H:%M:%S')} {primary.name} names no standby, and its Patroni is restarted", flush=True)
                primary.restart_patroni()
            self._engine.wait_standbys(limit=RECOVERY)

    def _standby(self):
        primary = self._engine.wait_primary()
        return self._random.choice([member for member in self._engine.members if member is not primary])

    def _other_primary(self, primary):
        self._engine.wait_primary(besides=[primary], limit=RECOVERY)

    def switchover(self):
        self._engine.switchover()

    def kill_postgres(self):
        self._engine.wait_primary().kill_postgres()

    def kill_primary(self):
        primary = self._engine.wait_primary()
        primary.kill()
        self._other_primary(primary)
        primary.start()

    def kill_standby(self):
        standby = self._standby()
        standby.kill()
        self._last()
        standby.start()

    def kill_etcd(self):
        etcd = self._random.choice(self._engine.etcds)
        etcd.kill()
        self._last()
        etcd.start()

    def stop_primary(self):
        """Where another one was promoted meanwhile, PostgreSQL goes on for a moment, until its watchdog resets the machine: a
        Patroni 3.0 that goes on may take the place of the leader by what it knew, whatever that has confirmed."""
        primary, lasts = self._engine.wait_primary(), self._random.choice(LASTS)
        primary.freeze()
        self._over.wait(lasts)
        if lasts < self._engine.rules["ttl"]:
            primary.thaw()
            return
        self._other_primary(primary)
        primary.thaw_postgres()
        self._over.wait(self._random.choice(LASTS[:3]))
        primary.kill()
        primary.start()

    def cut_primary(self):
        primary = self._engine.wait_primary()
        self._engine.cut(primary, tag=self.tag)
        self._other_primary(primary)
        self._network.heal(self.tag)

    def cut_primary_from_standbys(self):
        """The nodes still reach it, until Patroni deposes it: without strict mode it answers, and what it answered is lost."""
        primary = self._engine.wait_primary()
        for member in self._engine.members:
            if member is not primary:
                self._engine.cut(primary, member, tag=self.tag)
        self._other_primary(primary)
        self._network.heal(self.tag)

    def part_owner_and_primary(self):
        """They see each other alone, and nobody tells the primary that it is none any more."""
        owner, primary = self._owner(), self._engine.wait_primary()
        apart = [member.machine for member in self._engine.members if member is not primary]
        apart += [node.machine for node in self._cluster.nodes if node is not owner]
        for machine in apart:
            self._network.cut(owner.machine, machine, tag=self.tag)
            self._network.cut(primary.machine, machine, tag=self.tag)
        primary.process.send_signal(signal.SIGSTOP)
        try:
            self._other_primary(primary)
            self._eventually(TAKEN_OVER, lambda: self._other_owner(owner))
            self._last()
        finally:
            primary.kill()  # by its watchdog, as in stop_primary()
            self._network.heal(self.tag)
            primary.start()

    def stop_owner_and_its_backends(self):
        """The server stops what it does for the owner, and goes on before the owner does."""
        owner, primary = self._owner(), self._engine.wait_primary()
        backends = self._backends(owner, primary)
        process = owner.server.process
        self._signal(backends, signal.SIGSTOP)
        process.send_signal(signal.SIGSTOP)
        self._over.wait(LASTS[-1])
        self._signal(backends, signal.SIGCONT)
        self._last()
        self._history.go_on(owner.name)
        process.send_signal(signal.SIGCONT)

    def stop_renewals_of_owner(self):
        """The owner is well, and writes by another connection, but nobody sees that it lives."""
        owner, primary = self._owner(), self._engine.wait_primary()
        backends = self._renewals(owner, primary)
        self._signal(backends, signal.SIGSTOP)
        self._over.wait(LASTS[-1])
        self._signal(backends, signal.SIGCONT)

    def stop_writer_of_owner(self):
        """The owner gives up the connection by which it writes, and settles what it sent.  Then its former backend reads that.
        Where the standbys answer late, this comes between the settling and what the owner sends next."""
        owner, primary = self._owner(), self._engine.wait_primary()
        standbys = [member for member in self._engine.members if member is not primary]
        writers = self._stop_between_batches(owner, primary)
        try:
            late = self._random.choice([True, False])
            self._over.wait(FORSAKEN - 1)
            for standby in standbys if late else ():
                standby.freeze()
            reached = "wait_event = 'SyncRep'" if late else "true"
            self._eventually(FORSAKEN, lambda: set(self._writers(owner, primary, reached)) - set(writers))
            self._signal(writers, signal.SIGCONT)
            self._over.wait(LASTS[0])
        finally:
            self._signal(writers, signal.SIGCONT)
            for standby in standbys:
                standby.thaw()

    def _stop_between_batches(self, owner, primary):
        """The writers, which read nothing from now on.  Meanwhile the owner stood still, so that its next batch is a long one."""
        process = owner.server.process
        process.send_signal(signal.SIGSTOP)
        try:
            self._eventually(LASTS[1], lambda: not self._writers(owner, primary, "state <> 'idle'"))
            self._over.wait(LASTS[0])
            writers = self._writers(owner, primary)
            self._signal(writers, signal.SIGSTOP)
            return writers
        finally:
            process.send_signal(signal.SIGCONT)

    def stop_writer_amid_take_over(self):
        """Nobody sees that the owner lives.  Its last batch waits for the row that the next owner takes, and goes on once that
        has loaded."""
        owner, primary = self._owner(), self._engine.wait_primary()
        renewals, writers = self._renewals(owner, primary), self._writers(owner, primary)
        self._signal(renewals, signal.SIGSTOP)
        try:
            primary.query(WAIT_FOR_LOCK % (LASTS[-1], ", ".join(str(pid) for (pid,) in writers)))
            self._signal(writers, signal.SIGSTOP)
            self._eventually(LASTS[-1], lambda: self._other_owner(owner))
            self._signal(writers, signal.SIGCONT)
            self._over.wait(LASTS[1])
        finally:
            self._signal(renewals + writers, signal.SIGCONT)

    def lose_what_was_not_replicated(self):
        """Somebody cancels all waits for the standbys, which are cut off, so that commits are on the primary alone; and then that
        is lost.  The cut lasts until a standby is promoted: what its kernel has sent would arrive after it is killed."""
        primary = self._engine.wait_primary()
        for member in self._engine.members:
            if member is not primary:
                self._engine.cut(primary, member, tag=self.tag)
        end, word = time.monotonic() + self._random.choice(LASTS[1:3]), self._random.choice(["cancel", "terminate"])
        try:
            while time.monotonic() < end:
                primary.query(f"SELECT pg_{word}_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                self._over.wait(0.05)
            primary.kill()
            self._other_primary(primary)
        finally:
            self._network.heal(self.tag)
        primary.start()

    def end_connections(self):
        """Those of the owner, of which some wait for a standby."""
        owner, primary = self._owner(), self._engine.wait_primary()
        primary.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_addr = %s::inet",
                      (owner.machine.address,))

    def power_failure_of_primary(self):
        primary = self._engine.wait_primary()
        self._engine.lose_power(primary.disk)
        self._other_primary(primary)
        self._engine.restore_power(primary.disk)

    def power_failure_of_standby(self):
        standby = self._standby()
        self._engine.lose_power(standby.disk)
        self._last()
        self._engine.restore_power(standby.disk)

    def full_disk_of_primary(self):
        self._fill(self._engine.wait_primary())

    def full_disk_of_standby(self):
        self._fill(self._standby())

    def _fill(self, member):
        member.disk.fill()
        self._last()
        member.disk.empty()
        for program in self._engine.programs_of(member.disk):
            if not program.is_running():  # etcd ends where it cannot write, and its service starts it again
                program.start()


KINDS = (OfNodes, OfNetwork, OfEngine)


def draw(engine, cluster, history, seed, seconds, wanted):
    """Lets faults happen for so long, or until SIGINT, and says which.  Returns texts of what did not recover, after which
    there are no more."""
    unknown = [name for name in wanted if not any(name in kind.names() for kind in KINDS)]
    if unknown:
        raise SystemExit(f"prove cluster: no fault is called {', '.join(unknown)}")
    kinds = [kind(engine, cluster, history, seed, wanted) for kind in KINDS]
    threads = [threading.Thread(target=kind.run, daemon=True) for kind in kinds]
    interrupted = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    for thread in threads:
        thread.start()
    begun = said = time.monotonic()
    while time.monotonic() < begun + seconds and not interrupted.is_set() and not any(kind.failure for kind in kinds):
        interrupted.wait(0.2)
        if time.monotonic() > said + SAID:
            said += SAID
            print(f"{sum(kind.count() for kind in kinds)} faults in {said - begun:.0f} s", flush=True)
    for kind in kinds:
        kind.stop()
    for thread in threads:
        thread.join()
    done = {name: count for kind in kinds for name, count in sorted(kind.done.items())}
    print(" ".join(f"{name}={count}" for name, count in done.items()))
    print(f"{sum(done.values())} faults, one in {(time.monotonic() - begun) / max(sum(done.values()), 1):.1f} s", flush=True)
    failures = [kind.failure for kind in kinds if kind.failure is not None]
    return [f"{type(failure).__name__}: {str(failure).partition(chr(10))[0]}" for failure in failures]
