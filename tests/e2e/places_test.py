"""All places taken by one address, or one user: others get in all the same, whatever they connect by and whether or not
they are asked who they are; and those that were there before keep what they have.
"""
import contextlib
import os
import resource
import socket
import ssl
import subprocess
import sys
import unittest

from harness import LIMIT, Client, Server, eventually, make_token, scratch, self_signed, trusting

PLACES = 960
ELSEWHERE = "127.0.0.2"  # whoever takes all places comes from there, others from 127.0.0.1
NOBODY = 65534  # a user other than who runs the test
GOOD = 10
KEPT = 8  # places beyond the limit, for who runs the server and comes by a Unix socket

# Takes so many places of a Unix socket as another user, says so, and holds them until its input ends.
OTHER_USER = """
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
os.setgid(int(sys.argv[1])), os.setuid(int(sys.argv[1]))
held = []
for _ in range(int(sys.argv[2])):
    held.append(socket.socket(socket.AF_UNIX))
    held[-1].connect(sys.argv[3])
print("held", flush=True)
sys.stdin.read()
"""


class Places(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.folder = scratch(self.addCleanup)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *flags, listen=("ergon://127.0.0.1:0",)):
        return Server("--limits-connections", str(PLACES + 1), "--limits-penalty", "off", "--limits-auth-timeout", "off", *flags, listen=listen)

    @contextlib.contextmanager
    def crowd(self, server, said=None, context=None):
        """PLACES connections from elsewhere, of which each says `said` first and nothing more."""
        with contextlib.ExitStack() as stack:
            clients = []
            for _ in range(PLACES):
                sock = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT, source_address=(ELSEWHERE, 0))
                stack.callback(sock.close)
                if context:
                    sock = context.wrap_socket(sock, server_hostname="localhost")
                    stack.callback(sock.close)
                clients.append(Client(sock))
                if said:
                    clients[-1].call(*said)
            yield clients

    def are_served(self, server, watcher, said=None, context=None, url=None, kept=0):
        """GOOD connections at once, beside who was there before; so many places are kept for them."""
        with contextlib.ExitStack() as stack:
            good = [stack.enter_context(server.connect(url, context=context)) for _ in range(GOOD)]
            for n, client in enumerate(good):
                if said:
                    client.call(*said)
                self.assertEqual(client.call("echo", n), n)
            self.assertEqual(watcher.call("echo", "still"), "still")
            connections = watcher.call("server.info")["connections"]
            self.assertGreaterEqual(connections["gave_way"], GOOD - kept)
            self.assertLessEqual(connections["open"], PLACES + 1 + kept)
        eventually(lambda: "limits.connections" in server.log_text(), "the log says which limit it was")

    def are_there(self, watcher, count):
        eventually(lambda: watcher.call("server.info")["connections"]["open"] >= count, f"{count} are there")

    def test_who_is_not_asked_is_known_by_its_address(self):
        with self.start() as server, server.connect() as watcher:
            with self.crowd(server):
                self.are_there(watcher, PLACES + 1)
                self.are_served(server, watcher)

    def test_over_tls(self):
        cert, key = self_signed(self.folder)
        with self.start("--tls-cert", cert, "--tls-key", key, listen=("ergons://127.0.0.1:0",)) as server:
            context = trusting(cert)
            with server.connect(context=context) as watcher, self.crowd(server, context=context):
                self.are_there(watcher, PLACES + 1)
                self.are_served(server, watcher, context=context)

    def test_of_handshakes_that_have_begun_so_many(self):
        most, begun = 4, 7
        cert, key = self_signed(self.folder)
        flags = ("--loops", "1", "--limits-handshakes", str(most), "--limits-handshake-timeout", "1h", "--tls-cert", cert, "--tls-key", key)
        with self.start(*flags, listen=("ergons://127.0.0.1:0",)) as server, contextlib.ExitStack() as stack:
            context = trusting(cert)
            watcher = stack.enter_context(server.connect(context=context))
            hello = ssl.MemoryBIO()
            with self.assertRaises(ssl.SSLWantReadError):
                context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
            hello, bad = hello.read(), []
            for _ in range(begun):
                bad.append(stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT,
                                                                        source_address=(ELSEWHERE, 0))))
                bad[-1].sendall(hello)
                bad[-1].setblocking(False)

            def ended(sock):
                try:
                    return not sock.recv(1 << 16)
                except BlockingIOError:
                    return False
                except ConnectionError:
                    return True
            over = set()
            eventually(lambda: over.update(s for s in bad if ended(s)) or len(over) >= begun - most, "the last ones are closed")
            with server.connect(context=context) as good:
                self.assertEqual(good.call("echo", "beside"), "beside")
            # One more gave way where the good one had begun; it had not where its answer came before the server looked again.
            self.assertIn(watcher.call("server.info")["connections"]["gave_way"], (begun - most, begun - most + 1))
            eventually(lambda: "limits.handshakes" in server.log_text(), "the log says which limit it was")

    def test_over_tls_without_a_word(self):
        cert, key = self_signed(self.folder)
        flags = ("--limits-newcomers", str(PLACES), "--tls-cert", cert, "--tls-key", key)
        with self.start(*flags, listen=("ergons://127.0.0.1:0",)) as server:
            context = trusting(cert)
            with server.connect(context=context) as watcher, self.crowd(server):
                self.are_there(watcher, PLACES + 1)
                self.are_served(server, watcher, context=context)

    def tokens(self):
        return tuple(("server.auth", make_token(self.path("tokens"), name)) for name in ("good", "evil"))

    def test_with_tokens_who_has_said_who_it_is(self):
        good, evil = self.tokens()
        with self.start("--tokens", self.path("tokens")) as server, server.connect() as watcher:
            watcher.call(*good)
            with self.crowd(server, said=evil):
                self.are_there(watcher, PLACES + 1)
                self.are_served(server, watcher, said=good)

    def test_with_tokens_who_has_not(self):
        good, _ = self.tokens()
        with self.start("--tokens", self.path("tokens"), "--limits-newcomers", str(PLACES)) as server, server.connect() as watcher:
            watcher.call(*good)
            with self.crowd(server):
                self.are_there(watcher, PLACES + 1)
                self.are_served(server, watcher, said=good)

    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_users_of_a_unix_socket_are_counted_as_addresses_are(self):
        path = os.path.join("/tmp", f"ergon-places-{os.getpid()}.sock")
        config = self.path("ergond.yaml")
        with open(config, "w") as f:
            f.write(f"listen:\n  - url: unix://{path}\n    mode: 0666\n  - url: ergon://127.0.0.1:0\n")
        with self.start("--config", config, listen=()) as server:
            server.urls += [server.process.stdout.readline().strip() for _ in range(2)]
            with server.connect() as watcher:
                other = subprocess.Popen([sys.executable, "-c", OTHER_USER, str(NOBODY), str(PLACES), path], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
                try:
                    self.assertEqual(other.stdout.readline().strip(), "held")
                    self.are_there(watcher, PLACES + 1)
                    self.are_served(server, watcher, kept=KEPT)
                    self.are_served(server, watcher, url=server.urls[1], kept=KEPT)
                finally:
                    other.communicate()

    def test_who_takes_notifications_is_told(self):
        with self.start() as server, server.connect() as watcher, self.crowd(server, said=("server.hello", {"push": True})) as crowd:
            self.are_there(watcher, PLACES + 1)
            with server.connect() as good:
                self.assertEqual(good.call("echo", 1), 1)
            kind, method, (name, text) = crowd[-1].receive()
            self.assertEqual((kind, method, name), (2, "server.closing", "BUSY"))
            self.assertIn("limits.connections", text)
            self.assertTrue(crowd[-1].at_end())

    def test_two_crowds_do_not_throw_each_other_out(self):
        """The second gets a fifth, and no more."""
        with self.start() as server, server.connect() as watcher, self.crowd(server) as crowd, contextlib.ExitStack() as stack:
            self.are_there(watcher, PLACES + 1)
            for _ in range(PLACES):
                stack.enter_context(server.connect())
            eventually(lambda: "connection refused" in server.log_text(), "the second has its part")
            gone = watcher.call("server.info")["connections"]["gave_way"]
            self.assertGreater(gone, PLACES // 6)
            self.assertLess(gone, PLACES // 4)
            self.assertEqual(crowd[0].call("echo", 1), 1)


if __name__ == "__main__":
    unittest.main()
