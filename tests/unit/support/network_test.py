"""The machines of tests/support/network.py: packets arrive, and are lost where a test says."""
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
        cls.ends = {machine: machine.within(lambda m=machine: cls.bound(m)) for machine in cls.network.machines}
        for end in cls.ends.values():
            cls.addClassCleanup(end.close)

    @staticmethod
    def bound(machine):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.bind((machine.address, PORT))
        return end

    def setUp(self):
        self.addCleanup(self.network.heal)

    def arrives(self, sender, receiver):
        """Does a packet come?  The router handles packets as they are sent: what has not come then is lost."""
        self.ends[sender].sendto(b"packet", (receiver.address, PORT))
        try:
            return self.ends[receiver].recv(100, socket.MSG_DONTWAIT) == b"packet"
        except BlockingIOError:
            return False

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
