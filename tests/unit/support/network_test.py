"""The machines of tests/support/network.py: packets arrive, and are lost where a test says."""
import ipaddress
import itertools
import os
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "support")))

import ending  # noqa: E402
import network  # noqa: E402

PORT = 7000


@ending.needs(network.lacking())
class NetworkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = ending.Folder()
        cls.addClassCleanup(cls.folder.end)
        cls.network = network.Network(cls.folder, 3)
        cls.a, cls.b, cls.c = cls.network.machines
        cls.ends = {machine: cls.bound(machine) for machine in cls.network.machines}
        cls.router = cls.bound(network.Machine(cls.network.router, ""))
        cls.router.settimeout(1)
        cls.numbers = itertools.count()
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(processors)})  # one processor handles packets in the order in which they are sent
        cls.addClassCleanup(os.sched_setaffinity, 0, processors)

    @classmethod
    def bound(cls, machine):
        end = machine.within(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        cls.addClassCleanup(end.close)
        end.bind((machine.address, PORT))
        return end

    def setUp(self):
        self.addCleanup(self.network.heal)

    def handled(self, sender):
        """Returns when the router has handled what the sender had sent.  Its wire may not be up yet: then a mark is lost."""
        mark = b"mark %d" % next(self.numbers)

        def arrived():
            self.ends[sender].sendto(mark, (str(ipaddress.ip_address(sender.address) - 1), PORT))
            try:
                while self.router.recv(100) != mark:
                    pass
                return True
            except TimeoutError:
                return False
        ending.eventually(arrived, "the router gets a packet")

    def arrives(self, sender, receiver):
        """Does a packet come?  The second mark is behind it on its way from the router, too."""
        packet, come = b"packet %d" % next(self.numbers), []
        self.ends[sender].sendto(packet, (receiver.address, PORT))
        for _ in range(2):
            self.handled(sender)
        try:
            while True:
                come.append(self.ends[receiver].recv(100, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return packet in come

    def test_all_hear_each_other_at_first(self):
        for sender in self.ends:
            for receiver in self.ends:
                if sender is not receiver:
                    # The first waits for ARP.
                    ending.eventually(lambda s=sender, r=receiver: self.arrives(s, r), "a packet arrives")

    def test_cuts(self):
        self.test_all_hear_each_other_at_first()
        a, b, c = self.a, self.b, self.c
        for act, lost in ((lambda: self.network.cut(a), {(a, b), (b, a), (a, c), (c, a)}),
                          (lambda: self.network.cut(a, b), {(a, b), (b, a)}),
                          (lambda: self.network.lose(a, b), {(a, b)}),
                          (lambda: None, set())):
            act()
            got = {(s, r) for s in self.ends for r in self.ends if s is not r and not self.arrives(s, r)}
            self.assertEqual(got, lost)
            self.network.heal()

    def test_a_process_is_on_its_machine(self):
        command = [*self.a.wrapper(account=True), "sh", "-c", "id -u; ip -4 -o addr show dev wire"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.assertNotEqual(said.split()[0], "0")
        self.assertIn(self.a.address + "/30", said)

    def test_namespaces_end_with_their_folder(self):
        with ending.Folder() as folder:
            name = network.Network(folder, 1).machines[0].name
            self.assertTrue(os.path.exists("/run/netns/" + name))
        self.assertFalse(os.path.exists("/run/netns/" + name))


if __name__ == "__main__":
    unittest.main()
