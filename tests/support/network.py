"""Machines of a test, each a network namespace with one address, and a router between them that can lose packets.

    network = Network(folder, 3)
    a, b, c = network.machines
    subprocess.Popen([*a.wrapper(), "ergond", …])
    network.cut(a)            # a hears nobody, and nobody hears a
    network.cut(a, b)         # these two only
    network.lose(a, b)        # what a sends to b; b's packets arrive
    network.heal()            # all, or with `tag` what was cut with that tag

A packet that is lost is lost in silence, as by a switch that is off.  Files, Unix sockets and clocks are shared by all
machines: what a test does by a Unix socket works through each cut.  Only root can make namespaces: see lacking().
"""
import ctypes
import ipaddress
import itertools
import os
import shutil
import subprocess
import threading

import ending

CLONE_NEWNET = 0x40000000
NET = ipaddress.ip_network("198.51.100.0/24")  # for documentation: nobody has these addresses
FIRST, TAGS = 100, 4  # preferences of rules, one a tag


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def lacking():
    """Why there can be no namespaces; "" where there can."""
    if os.geteuid() != 0:
        return "network namespaces are root's to make"
    if not shutil.which("ip"):
        return "there is no ip (package iproute2)"
    name = f"ergon-try-{os.getpid()}"
    try:
        ip("netns", "add", name)
        ip("-n", name, "link", "add", "wire0", "type", "veth", "peer", "name", "wire1")
        return ""
    except AssertionError as e:
        return f"no network namespace with a wire can be made: {e}"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Machine:
    """One namespace.  Its address is reached from the others, and from nowhere else."""

    def __init__(self, name, address):
        self.name, self.address = name, address

    def wrapper(self, account=False):
        """What a command line begins with to run on this machine: as the test's user, or as ending.account()."""
        user = ending.account() if account else None
        as_user = [] if user is None else ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups", "--"]
        return ["nsenter", f"--net=/run/netns/{self.name}", *as_user]

    def within(self, action):
        """What `action()` returns, run by a thread whose network is this machine's.  Its sockets stay there: a connection of
        psycopg2 that it makes can be used by any thread."""
        result = []

        def enter():
            with open(f"/run/netns/{self.name}") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            return action()

        def run():
            try:
                result.append((enter(), None))
            except BaseException as e:  # the caller's
                result.append((None, e))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        value, failure = result[0]
        if failure is not None:
            raise failure
        return value

    def run(self, *words):
        return subprocess.run([*self.wrapper(), *words], capture_output=True, text=True, timeout=ending.LIMIT, check=False)


class Network:
    """Namespaces that end with `folder`, an ending.Folder."""

    numbers = itertools.count(1)

    def __init__(self, folder, machines):
        tag = f"ergon-{os.getpid()}-{next(self.numbers)}"
        self.router = f"{tag}-router"
        self.add_namespace(folder, self.router)
        subprocess.run(["nsenter", f"--net=/run/netns/{self.router}", "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"],
                       check=True)
        self.machines = []
        for i, net in zip(range(machines), NET.subnets(new_prefix=30)):
            gateway, address = (str(a) for a in net.hosts())
            machine = Machine(f"{tag}-m{i}", address)
            self.add_namespace(folder, machine.name)
            ip("link", "add", "wire", "netns", machine.name, "type", "veth", "peer", "name", f"wire{i}", "netns", self.router)
            ip("-n", machine.name, "addr", "add", f"{address}/30", "dev", "wire")
            ip("-n", self.router, "addr", "add", f"{gateway}/30", "dev", f"wire{i}")
            ip("-n", machine.name, "link", "set", "wire", "up")
            ip("-n", self.router, "link", "set", f"wire{i}", "up")
            ip("-n", machine.name, "route", "add", "default", "via", gateway)
            self.machines.append(machine)

    @staticmethod
    def add_namespace(folder, name):
        folder.remember_namespace(name)
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")

    def drop(self, tag, *words):
        ip("-n", self.router, "rule", "add", "pref", str(FIRST + tag), *words, "blackhole")

    def cut(self, machine, other=None, tag=0):
        """Nothing passes between the two; without `other`: between the machine and all."""
        if other is not None:
            self.lose(machine, other, tag)
            self.lose(other, machine, tag)
        else:
            self.drop(tag, "from", machine.address)
            self.drop(tag, "to", machine.address)

    def lose(self, sender, receiver, tag=0):
        """One way: what the sender sends is lost."""
        self.drop(tag, "from", sender.address, "to", receiver.address)

    def heal(self, tag=None):
        """All packets arrive again that were lost with this tag; None: with any."""
        for pref in range(FIRST, FIRST + TAGS) if tag is None else [FIRST + tag]:
            delete = ["ip", "-n", self.router, "rule", "del", "pref", str(pref)]  # one at a time
            while subprocess.run(delete, capture_output=True, check=False).returncode == 0:
                pass
