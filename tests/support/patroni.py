"""PostgreSQL under Patroni with etcd, for tests of a fail-over that nobody does by hand.

    with patroni.Cluster() as cluster:                  # on loopback
    with patroni.Cluster(namespaces=True) as cluster:   # each member on a machine of its own: network.py
        cluster.primary().query("CREATE TABLE kept (n int)")
        cluster.primary().kill()
        cluster.wait_primary(besides=[…])

A member is a PostgreSQL with its Patroni; a machine of `namespaces` also has one of the etcds.  Servers are reached by their
Unix sockets whatever is cut.  postgres.py says who is let in by which way.
"""
import json
import os
import secrets
import shutil
import subprocess
import urllib.request

import disks
import ending
import network
import postgres
from ending import eventually

SCOPE = "ergon"
NO_CHILD = "is not a child of this server's history"
FAILOVER = 120.0  # seconds: ttl, and what a busy machine adds


def missing():
    """What a test with Patroni lacks here; "" when it lacks nothing."""
    lacks = [package for package, program in (("patroni", "patroni"), ("etcd-server", "etcd")) if not shutil.which(program)]
    mine = f"not installed: {', '.join(lacks)} (Debian's packages; ./run setup installs them)" if lacks else ""
    return "; ".join(filter(None, (postgres.missing(), mine)))


def missing_for_namespaces():
    return missing() or network.lacking()


class Refused(AssertionError):
    """Patroni does not do what it was asked for."""


class Program:
    """A process in a folder of its own, with a log beside it, on a machine or on this one."""

    def __init__(self, cluster, name, machine, disk, *command):
        self.name, self.machine, self.disk, self.command, self.process = name, machine, disk, command, None
        self.folder = ending.make_folder(disk.path if disk else cluster.folder.path, name)
        self.log_path = ending.write(os.path.join(cluster.folder.path, name + ".log"), "")

    def start(self):
        wrapper, user = ([], ending.as_account()) if self.machine is None else (self.machine.wrapper(account=True), {})
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*wrapper, *self.command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, **user)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def kill(self):
        """kill -9 of all that runs in the folder."""
        ending.kill_below(self.folder)
        if self.process is not None:
            self.process.wait(ending.LIMIT)

    def freeze(self):
        """SIGSTOP of all that runs in the folder, again until no new process is there."""
        while left := [pid for pid in ending.pids_below(self.folder) if ending.state_of(pid) not in "TZX"]:
            ending.freeze(left)

    def thaw(self):
        ending.thaw(ending.pids_below(self.folder))

    def is_frozen(self):
        return self.is_running() and ending.state_of(self.process.pid) == "T"


class Member(postgres.Reached, Program):
    """A PostgreSQL and its Patroni.  kill() and freeze() are about both, as if the machine were lost; its etcd lives."""

    def __init__(self, cluster, name, machine, disk):
        Program.__init__(self, cluster, name, machine, disk)
        self.password_file = cluster.password_file
        self.address = machine.address if machine else "127.0.0.1"
        self.kept = [postgres.reserve_port() for _ in range(2)]
        self.port, self.rest = (5432, 8008) if machine else (kept.getsockname()[1] for kept in self.kept)
        self.config = os.path.join(self.folder, "patroni.yaml")
        self.command = ("patroni", self.config)
        ending.write(self.config, json.dumps(self.configuration(cluster)))  # JSON is YAML

    def configuration(self, cluster):
        local = {"unix_socket_directories": self.folder, "cluster_name": self.name, "archive_mode": "on",
                 "archive_command": f"case %f in *.history) cp %p {cluster.timelines}/%f;; esac"}
        return {
            "scope": SCOPE, "name": self.name,
            "restapi": {"listen": f"{self.address}:{self.rest}", "connect_address": f"{self.address}:{self.rest}"},
            "etcd3": {"hosts": [f"{etcd.address}:{etcd.port}" for etcd in cluster.etcds]},
            "bootstrap": {"dcs": cluster.rules, "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}, "no-sync"]},
            "postgresql": {
                "listen": f"{self.address}:{self.port}", "connect_address": f"{self.address}:{self.port}",
                "data_dir": os.path.join(self.folder, "data"), "bin_dir": postgres.programs(),
                "pgpass": os.path.join(self.folder, "pgpass"), "use_unix_socket": True,
                "remove_data_directory_on_diverged_timelines": True, "parameters": local, "basebackup": [{"checkpoint": "fast"}],
                "recovery_conf": {"restore_command": f"test -e {cluster.timelines}/%f && cp {cluster.timelines}/%f %p"},
                "authentication": {"superuser": {"username": postgres.ADMIN, "password": cluster.roles[postgres.ADMIN]},
                                   "replication": {"username": "replicator", "password": cluster.roles["replicator"]}},
                "pg_hba": ["local all all trust", "host all all all scram-sha-256", "host replication all all scram-sha-256"],
            },
        }

    def kill_postgres(self):
        """kill -9 of the postmaster and its backends: Patroni lives, and starts it again or fails over."""
        ending.kill_below(os.path.join(self.folder, "data"))

    def thaw_postgres(self):
        """PostgreSQL runs again; Patroni stays stopped."""
        ending.thaw(ending.pids_below(os.path.join(self.folder, "data")))

    def make_anew(self):
        """It loses its data, and copies that of the primary."""
        self.kill()
        shutil.rmtree(os.path.join(self.folder, "data"))
        self.start()

    def restart_patroni(self):
        """PostgreSQL goes on meanwhile."""
        self.process.kill()
        self.process.wait(ending.LIMIT)
        self.start()

    def ask(self, path):
        """What the Patroni of this member says by HTTP, from JSON; None where it does not answer."""
        def get():
            with urllib.request.urlopen(f"http://{self.address}:{self.rest}{path}", timeout=5) as answer:
                return json.load(answer)
        try:
            return get() if self.machine is None else self.machine.within(get)
        except OSError:
            return None

    def timeline(self):
        """(timeline, is it a primary?); None where it does not answer."""
        try:
            return self.query("SELECT timeline_id, NOT pg_is_in_recovery() FROM pg_control_checkpoint()")[0]
        except postgres.psycopg2.Error:
            return None

    def is_primary(self):
        found = self.timeline()
        return found is not None and found[1]

    def end(self):
        self.kill()
        for kept in self.kept:
            kept.close()


class Etcd(Program):
    def __init__(self, cluster, name, machine, disk):
        Program.__init__(self, cluster, name, machine, disk)
        self.address = machine.address if machine else "127.0.0.1"
        self.kept = [postgres.reserve_port() for _ in range(2)]
        self.port, self.peer_port = (2379, 2380) if machine else (kept.getsockname()[1] for kept in self.kept)

    def begin(self, all_of_them):
        client, peer = f"http://{self.address}:{self.port}", f"http://{self.address}:{self.peer_port}"
        cluster = ",".join(f"{etcd.name}=http://{etcd.address}:{etcd.peer_port}" for etcd in all_of_them)
        self.command = ("etcd", "--name", self.name, "--data-dir", os.path.join(self.folder, "data"),
                        "--listen-client-urls", client, "--advertise-client-urls", client,
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                        "--initial-cluster", cluster, "--initial-cluster-state", "new", "--heartbeat-interval", "200",
                        "--election-timeout", "2000", "--pre-vote", "--logger", "zap", "--log-level", "warn")
        self.start()

    def end(self):
        self.kill()
        for kept in self.kept:
            kept.close()


class Cluster:
    """Members p1, p2, … and etcds e1, e2, …; with `namespaces` p1 and e1 are on machines[0], and so on; `more` machines are
    the test's.

    strict      synchronous_mode_strict: without a synchronous standby nothing is committed
    synchronous False: replication is asynchronous, and a fail-over loses what was acknowledged
    ttl         seconds after which a leader that says nothing is deposed
    disk        MiB of a disk that p1 and e1 share, as p2 and e2 do, …: disks.py; 0: a folder.  See lose_power()
    """

    def __init__(self, members=3, etcds=3, namespaces=False, more=0, strict=True, synchronous=True, ttl=20, loop_wait=1,
                 retry_timeout=3, fsync=False, settings=None, parent=None, disk=0):
        lacks = (missing_for_namespaces() if namespaces else missing()) or (disks.lacking() if disk else "")
        if lacks:
            raise RuntimeError(lacks)
        self.folder = ending.Folder("ergon-patroni-", parent)
        self.password_file = ending.write(os.path.join(self.folder.path, "passwords"), "")
        # Else two members may begin timelines of one number, and the first confirms what it does not have.
        self.timelines = ending.make_folder(self.folder.path, "timelines")
        self.roles = {postgres.ADMIN: secrets.token_hex(16), "replicator": secrets.token_hex(16)}
        self.settings = {
            "fsync": "on" if fsync else "off", "full_page_writes": "on" if fsync else "off", "shared_buffers": "32MB",
            "max_connections": 200, "dynamic_shared_memory_type": "mmap", "timezone": "UTC", **(settings or {})}
        self.rules = {
            "ttl": ttl, "loop_wait": loop_wait, "retry_timeout": retry_timeout, "maximum_lag_on_failover": 1 << 30,
            "synchronous_mode": synchronous, "synchronous_mode_strict": synchronous and strict,
            "postgresql": {"use_pg_rewind": False, "use_slots": True, "parameters": self.settings},
        }
        self.members, self.etcds = [], []
        try:
            self.make(members, etcds, namespaces, more, disk)
        except BaseException:
            self.end()
            raise

    def make(self, members, etcds, namespaces, more, disk):
        wanted = max(members, etcds) + more
        self.network = network.Network(self.folder, wanted) if namespaces else None
        self.machines = self.network.machines if namespaces else [None] * wanted
        self.disks = [disks.Disk(self.folder, f"disk{i + 1}", disk) if disk else None for i in range(max(members, etcds))]
        self.etcds = [Etcd(self, f"e{i + 1}", self.machines[i], self.disks[i]) for i in range(etcds)]
        self.members = [Member(self, f"p{i + 1}", self.machines[i], self.disks[i]) for i in range(members)]
        self.write_passwords()
        for etcd in self.etcds:
            etcd.begin(self.etcds)
        for member in self.members:
            member.start()
        self.wait_primary()
        self.wait_standbys()
        for one in filter(None, self.disks):
            one.sync()  # initdb did not

    # Questions about the cluster's state.

    def logs(self):
        return "\n".join(f"{program.name}:\n{program.log()[-2000:]}" for program in (*self.etcds, *self.members))

    def primary(self):
        """The member that is the primary; None where there is none.  Of two, as while one is cut off, the later."""
        able = [i for i, member in enumerate(self.members) if member.is_running() and not member.is_frozen()]
        found = [(timeline[0], i) for timeline, i in ((self.members[i].timeline(), i) for i in able) if timeline and timeline[1]]
        return self.members[max(found)[1]] if found else None

    def wait_primary(self, besides=(), limit=FAILOVER):
        """The primary, when there is one that is none of `besides`."""
        def found():
            primary = self.primary()
            return primary if primary is not None and primary not in besides else None
        return eventually(found, lambda: f"there is a primary:\n{self.logs()}", limit)

    def knows_standby(self):
        """Does a commit wait for a standby, and does Patroni know which, so that it may be promoted?"""
        primary = self.primary()
        known = primary and primary.ask("/cluster")
        return bool(known) and any(member["role"] == "sync_standby" for member in known["members"])

    def wait_standbys(self, number=None, limit=FAILOVER):
        """Returns when so many standbys stream (all that run), and one of them is synchronous."""
        def stream():
            primary = self.primary()
            wanted = number if number is not None else sum(member.is_running() for member in self.members) - 1
            try:
                streaming = len(self.streaming(primary)) if primary is not None else -1
            except postgres.psycopg2.Error:  # it is just being stopped
                return False
            return streaming >= wanted and (wanted == 0 or not self.rules["synchronous_mode"] or self.knows_standby())
        eventually(stream, lambda: f"the standbys stream:\n{self.logs()}", limit)

    def streaming(self, primary):
        """The names of members that stream from it, and not of pg_basebackup, of a standby to be."""
        sql = "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' AND application_name = ANY (%s)"
        return [name for (name,) in primary.query(sql, ([member.name for member in self.members],))]

    def stuck(self):
        """The standbys that run and do not stream."""
        primary = self.wait_primary()
        names = self.streaming(primary)
        return [member for member in self.members if member is not primary and member.is_running() and member.name not in names]

    def diverged(self):
        """The members whose PostgreSQL does not start, since what they wrote last is no part of the others' timeline."""
        return [member for member in self.members
                if member.is_running() and not member.timeline() and NO_CHILD in member.log()[-4000:]]

    # What is done to it.

    def switchover(self, to=None):
        """A planned change; returns the new primary when it takes writes.  Raises Refused."""
        old = self.wait_primary()
        wrapper, user = ([], ending.as_account()) if old.machine is None else (old.machine.wrapper(account=True), {})
        done = subprocess.run([*wrapper, "patronictl", "-c", old.config, "switchover", "--master", old.name,
                               *(("--candidate", to.name) if to else ()), "--force"], capture_output=True, text=True,
                              timeout=FAILOVER, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, check=False,
                              cwd=old.folder, **user)
        if done.returncode != 0 or "Successfully" not in done.stdout:
            raise Refused(f"patronictl ended with {done.returncode}:\n{done.stdout}{done.stderr}\n{self.logs()}")
        return self.wait_primary(besides=[old])

    def cut(self, member, other=None, tag=0):
        """The member's machine hears nobody, and nobody hears it; or these two machines each other.  network.lose() is one
        way, network.heal() ends it."""
        self.network.cut(member.machine, other.machine if other else None, tag)

    def programs_of(self, disk):
        return [program for program in (*self.etcds, *self.members) if program.disk is disk]

    def lose_power(self, disk):
        """All that runs there ends at once, and what was not synced is gone."""
        disk.lose_power()
        for program in self.programs_of(disk):
            program.process.wait(ending.LIMIT)

    def restore_power(self, disk):
        disk.mount()
        for program in self.programs_of(disk):
            program.start()

    # Roles and databases, as of postgres.Cluster.

    def write_passwords(self):
        ending.write(self.password_file, "".join(f"*:*:*:{role}:{word}\n" for role, word in self.roles.items()))

    def create_role(self, name, password=None):
        self.roles[name] = password or secrets.token_hex(16)
        self.wait_primary().query(f'CREATE ROLE "{name}" LOGIN PASSWORD %s', (self.roles[name],))
        self.write_passwords()

    def create_database(self, name, owner=postgres.ADMIN):
        """Returns when the standbys that run have it, too: libpq gives up at a server that has no such database."""
        primary = self.wait_primary()
        primary.query(f'CREATE DATABASE "{name}" OWNER "{owner}" ENCODING \'UTF8\' TEMPLATE template0')
        postgres.wait_replayed(primary, [member for member in self.members if member is not primary and member.is_running()
                                         and not member.is_frozen()])

    def url(self, dbname="postgres", user=postgres.ADMIN, tcp=False, **parameters):
        """A URL of all members, of which libpq takes the one that can be written.  By TCP: as their machines reach each other."""
        return postgres.url_of(self.members, dbname, user, tcp, target_session_attrs="read-write", **parameters)

    def end(self):
        """Ends all, and removes the folder and the namespaces.  May be called twice."""
        for program in (*self.members, *self.etcds):
            program.end()
        self.folder.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
