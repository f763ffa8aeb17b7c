"""PostgreSQL for tests: a primary, standbys that stream from it, and what a test does to them.

    with postgres.Cluster(standbys=2, sync=True) as cluster:
        cluster.create_role("ergon")
        cluster.create_database("ergon", owner="ergon")
        url = cluster.url("ergon", user="ergon")
        cluster.primary.kill()
        cluster.promote(cluster.standbys[0])

Each server has a folder of its own with its data, its socket and its log.  Whoever may enter the folder (the test's user and
root) is let in by the socket as any role; by TCP a role needs a password, since all of this machine can connect there.
No server of Debian's is touched.  Missing programs: see missing().
"""
import glob
import os
import secrets
import shutil
import signal
import socket
import subprocess
import urllib.parse

import ending
from ending import LIMIT, eventually

try:
    import psycopg2
except ImportError:
    psycopg2 = None

ADMIN = "postgres"  # the superuser of each server


def programs():
    """The folder with Debian's newest server; None where there is none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    if found:
        return os.path.dirname(found[-1])
    path = shutil.which("postgres")
    return os.path.dirname(os.path.realpath(path)) if path else None


def missing():
    """What a test with PostgreSQL lacks here; "" when it lacks nothing."""
    packages = [name for name, lacks in (("postgresql", programs() is None), ("python3-psycopg2", psycopg2 is None)) if lacks]
    return f"not installed: {', '.join(packages)} (Debian's packages; ./run setup installs them)" if packages else ""


def run_program(name, *arguments, cwd):
    done = subprocess.run([os.path.join(programs(), name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, cwd=cwd, timeout=5 * LIMIT, check=False, **ending.as_account())
    if done.returncode != 0:
        raise AssertionError(f"{name} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def reserve_port():
    """A socket that keeps a port of 127.0.0.1 for a server of ours: neither another's bind() to port 0 nor a connection gets
    it, while a server that sets SO_REUSEADDR can listen there, again and again."""
    kept = socket.socket()
    kept.bind(("127.0.0.1", 0))
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return kept


def assignments(settings):
    return "".join("{} = '{}'\n".format(name, str(value).replace("'", "''")) for name, value in settings.items())


def url_of(servers, dbname, user, tcp=False, **parameters):
    """A libpq URL of these servers, to be tried in turn."""
    hosts = [(server.address if tcp else server.folder, str(server.port)) for server in servers]
    parameters = {"host": ",".join(h for h, _ in hosts), "port": ",".join(p for _, p in hosts), "user": user, **parameters}
    return f"postgresql:///{urllib.parse.quote(dbname)}?" + urllib.parse.urlencode(parameters, safe="/,")


def wait_replayed(primary, standbys):
    """Returns when queries to these standbys see what the primary has committed by now."""
    position = primary.query("SELECT pg_current_wal_flush_lsn()")[0][0]
    for standby in standbys:
        eventually(lambda s=standby: s.query("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (position,))[0][0],
                   f"{standby.name} has replayed {position}")


class Reached:
    """A server with a socket in `folder`, a `port`, and `password_file` for connections by TCP to `address`."""

    address = "127.0.0.1"
    connect_timeout = 5  # seconds, of a connection by the socket

    def is_primary(self):
        return not self.query("SELECT pg_is_in_recovery()")[0][0]

    def url(self, dbname="postgres", user=ADMIN, tcp=False, **parameters):
        """A URL of this server alone.  By TCP: the password is in the file that env() names."""
        return url_of([self], dbname, user, tcp, **parameters)

    def env(self, dbname="postgres", user=ADMIN):
        """The variables by which a program of libpq finds this server."""
        return {"PGHOST": self.folder, "PGPORT": str(self.port), "PGUSER": user, "PGDATABASE": dbname,
                "PGPASSFILE": self.password_file}

    def connect(self, dbname="postgres", user=ADMIN, **parameters):
        """A connection of psycopg2 by the socket; each statement is a transaction of its own.  It uses nothing of the
        caller's environment but that."""
        connection = psycopg2.connect(dbname=dbname, user=user, host=self.folder, port=self.port,
                                      connect_timeout=self.connect_timeout, **parameters)
        connection.autocommit = True
        return connection

    def query(self, sql, parameters=None, dbname="postgres", user=ADMIN):
        """The rows of one statement, on a connection of its own; [] where it has none."""
        connection = self.connect(dbname, user)
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    def psql(self, script, dbname="postgres", user=ADMIN):
        """What psql prints of this script: rows, with | between columns.  The first error ends it."""
        done = subprocess.run([os.path.join(programs(), "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], input=script,
                              text=True, capture_output=True, timeout=LIMIT, check=False,
                              env={**os.environ, **self.env(dbname, user)})
        if done.returncode != 0:
            raise AssertionError(f"psql ended with {done.returncode}: {done.stderr}")
        return done.stdout


class Server(Reached):
    """One PostgreSQL.  It is made by Cluster, which knows whose standby it is."""

    connect_timeout = int(LIMIT)  # no test asks one that may be frozen

    def __init__(self, cluster, name):
        self.cluster, self.name, self.password_file = cluster, name, cluster.password_file
        self.folder = ending.make_folder(cluster.folder.path, name)
        self.data, self.log_path = os.path.join(self.folder, "data"), os.path.join(self.folder, "log")
        self.kept_port = reserve_port()
        self.port = self.kept_port.getsockname()[1]
        self.process = None
        self.frozen = []

    def configure(self, **settings):
        """Writes postgresql.conf anew with these settings, which count beside the cluster's; reload() or a start reads it."""
        self.cluster.settings_of.setdefault(self.name, {}).update(settings)
        text = assignments({
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder,
            "cluster_name": self.name, **self.cluster.settings, **self.cluster.settings_of[self.name]})
        ending.write(os.path.join(self.data, "postgresql.conf"), text)
        ending.write(os.path.join(self.data, "pg_hba.conf"), "local all all trust\nlocal replication all trust\n"
                     "host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n")

    def reload(self):
        """Returns when new connections have what configure() wrote."""
        before = self.query("SELECT pg_conf_load_time()")
        self.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.query("SELECT pg_conf_load_time()") != before,
                   lambda: f"{self.name} reloads:\n{self.log()[-4000:]}")

    def begin(self):
        """Starts the process, and does not wait until it takes connections."""
        log = os.open(self.log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.process = subprocess.Popen([os.path.join(programs(), "postgres"), "-D", self.data], cwd=self.data,
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log, **ending.as_account())
        os.close(log)

    def start(self):
        """Starts it, and returns when it takes connections."""
        self.begin()
        eventually(self.answers, lambda: f"{self.name} answers:\n{self.log()[-4000:]}")

    def answers(self):
        if not self.is_running():
            raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}")
        try:
            self.query("SELECT 1")
            return True
        except psycopg2.OperationalError:
            return False

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def pids(self):
        """The postmaster and all its children."""
        return [pid for pid in ending.pids_below(self.data) if not ending.has_ended(pid)]

    def stop(self, mode="fast"):
        """Waits until it has ended.  smart: waits for its clients, too; fast: disconnects them; immediate: as a crash, whose
        recovery is at the next start."""
        if self.is_running():
            self.thaw()
            self.process.send_signal({"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
            self.process.wait(LIMIT)

    def kill(self):
        """kill -9 of the postmaster and of all backends: none of them goes on with what it was at."""
        self.process.kill()
        ending.kill_below(self.data)
        self.process.wait(LIMIT)
        self.frozen = []

    def freeze(self):
        """SIGSTOP for all its processes, the postmaster first: it starts none meanwhile."""
        self.frozen = [self.process.pid]
        ending.freeze(self.frozen)
        self.frozen = self.pids()
        ending.freeze(self.frozen)

    def thaw(self):
        ending.thaw(self.frozen)
        self.frozen = []

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def discard(self):
        if self.is_running():
            self.kill()
        self.kept_port.close()


class Cluster:
    """A primary and standbys.

    sync      a commit waits for one standby: synchronous_standby_names = 'ANY 1 (…)' with all servers
    fsync     off is much faster, and loses nothing as long as the machine runs; True for a test about disks
    settings  more lines of postgresql.conf, of all servers
    parent    the folder below which all is made; None: memory
    """

    def __init__(self, standbys=0, sync=False, fsync=False, settings=None, parent=None):
        lacks = missing()
        if lacks:
            raise RuntimeError(lacks)
        self.folder = ending.Folder("ergon-pg-", parent)
        self.servers, self.settings_of, self.roles = [], {}, {}
        self.password_file = ending.write(os.path.join(self.folder.path, "passwords"), "")
        names = ["a"] + ["s%d" % (i + 1) for i in range(standbys)]
        self.settings = {
            "fsync": "on" if fsync else "off", "full_page_writes": "on" if fsync else "off", "shared_buffers": "32MB",
            "min_wal_size": "32MB", "max_connections": 200, "max_wal_senders": 10, "max_replication_slots": 10,
            "wal_level": "replica", "hot_standby": "on", "wal_retrieve_retry_interval": "100ms",
            "wal_receiver_status_interval": "1s",
            # Segments of shared memory that a kill -9 leaves behind are then files in the folder.
            "dynamic_shared_memory_type": "mmap", "log_line_prefix": "%m [%p] %q%u@%d ", "timezone": "UTC",
            **({"synchronous_standby_names": self.any_of(names, 1)} if sync else {}), **(settings or {})}
        try:
            self.make(names)
        except BaseException:
            self.end()
            raise

    @staticmethod
    def any_of(names, number):
        return f"ANY {number} ({', '.join(names)})"

    def make(self, names):
        self.primary = Server(self, names[0])
        self.servers.append(self.primary)
        run_program("initdb", "-D", self.primary.data, "-U", ADMIN, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                    "--no-instructions", cwd=self.primary.folder)
        self.primary.configure()
        self.primary.start()
        for name in names[1:]:
            self.add_standby(name)
        self.create_role(ADMIN, superuser=True)
        self.primary.query("CREATE ROLE ergon_submit")  # as an administrator makes them, whose role may
        self.primary.query("CREATE ROLE ergon_read")

    @property
    def standbys(self):
        return [server for server in self.servers if server is not self.primary]

    # Making servers.

    def add_standby(self, name):
        """A standby of the primary by pg_basebackup, with a slot; returns when it streams."""
        server = Server(self, name)
        self.servers.append(server)
        self.copy_primary(server)
        return server

    def copy_primary(self, server):
        self.make_slot(server.name)
        run_program("pg_basebackup", "-D", server.data, "-h", self.primary.folder, "-p", str(self.primary.port), "-U", ADMIN,
                    "-X", "stream", "-c", "fast", "--no-sync", cwd=server.folder)
        server.configure(**self.source_of(server))
        ending.write(os.path.join(server.data, "standby.signal"), "")
        server.start()
        self.wait_streaming(server)

    def make_slot(self, name):
        self.primary.query("SELECT pg_create_physical_replication_slot(%s, true) WHERE NOT EXISTS "
                           "(SELECT FROM pg_replication_slots WHERE slot_name = %s)", (name, name))

    def source_of(self, server):
        source = f"host={self.primary.folder} port={self.primary.port} user={ADMIN} application_name={server.name}"
        return {"primary_conninfo": source, "primary_slot_name": server.name}

    def wait_streaming(self, server):
        sql = "SELECT 1 FROM pg_stat_replication WHERE application_name = %s AND state = 'streaming'"
        eventually(lambda: self.primary.query(sql, (server.name,)), lambda: f"{server.name} streams:\n{server.log()[-4000:]}")

    # What changes the roles of servers.

    def promote(self, standby):
        """Makes a standby the primary; the other standbys that run follow it.  The old primary is not asked: it may run."""
        followers = [server for server in self.standbys if server is not standby and server.is_running() and not server.frozen]
        standby.query("SELECT pg_promote(true, %s)", (int(LIMIT),))
        self.primary = standby
        for server in followers:
            self.follow(server)

    def follow(self, standby):
        """Has a standby stream from the primary of now.  One that is ahead of it cannot: rejoin()."""
        self.make_slot(standby.name)
        standby.configure(**self.source_of(standby))
        standby.reload()

    def rejoin(self, server):
        """Makes a server that was the primary, or is behind, a standby of the primary, with its data copied anew."""
        server.stop("immediate")
        ending.forget_memory(server.data)
        shutil.rmtree(server.data)
        self.copy_primary(server)

    def most_advanced(self):
        """The standby that has received most of the log: the one to be promoted when ANY is set."""
        sql = "SELECT COALESCE(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn"
        able = [server for server in self.standbys if server.is_running() and not server.frozen]
        return max(able, key=lambda server: server.query(sql)[0][0])

    def set(self, **settings):
        """Changes settings of all servers, as synchronous_standby_names='', and has those read that run."""
        self.settings.update(settings)
        for server in self.servers:
            server.configure()
            if server.is_running() and not server.frozen:
                server.reload()

    # Roles and databases.

    def create_role(self, name, superuser=False, password=None):
        """A role that may log in.  By TCP it needs its password, which is drawn unless one is given, and is in password_file."""
        self.roles[name] = password or secrets.token_hex(16)
        with self.primary.connect() as connection, connection.cursor() as cursor:
            verb = "ALTER" if name == ADMIN else "CREATE"
            cursor.execute(f'{verb} ROLE "{name}" LOGIN {"SUPERUSER" if superuser else ""} PASSWORD %s', (self.roles[name],))
        connection.close()
        ending.write(self.password_file, "".join(f"*:*:*:{role}:{word}\n" for role, word in self.roles.items()))

    def create_database(self, name, owner=ADMIN, encoding="UTF8"):
        """Returns when the standbys that run have it, too: libpq gives up at a server that has no such database."""
        self.primary.query(f'CREATE DATABASE "{name}" OWNER "{owner}" ENCODING \'{encoding}\' TEMPLATE template0')
        wait_replayed(self.primary, [server for server in self.standbys if server.is_running() and not server.frozen])

    def url(self, dbname="postgres", user=ADMIN, tcp=False, **parameters):
        """A URL of all servers, of which libpq takes the one that can be written."""
        more = {"target_session_attrs": "read-write"} if len(self.servers) > 1 else {}
        return url_of(self.servers, dbname, user, tcp, **more, **parameters)

    def service_file(self, service="ergon", dbname="postgres", user=ADMIN):
        """The path of a service file (PGSERVICEFILE) with one service, by TCP and with the password in it."""
        hosts = ",".join("127.0.0.1" for _ in self.servers)
        text = (f"[{service}]\nhost={hosts}\nport={','.join(str(s.port) for s in self.servers)}\ndbname={dbname}\nuser={user}\n"
                f"password={self.roles[user]}\n" + "target_session_attrs=read-write\n" * (len(self.servers) > 1))
        return ending.write(os.path.join(self.folder.path, service + ".service"), text)

    def env(self, dbname="postgres", user=ADMIN):
        return self.primary.env(dbname, user)

    def end(self):
        """Ends all servers and removes the folder.  May be called twice."""
        for server in self.servers:
            server.discard()
        self.folder.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
