"""TLS, Unix sockets, tokens, certificates, limits, and reloading them."""
import os
import signal
import socket
import ssl
import subprocess
import unittest

from half_open_test import WHY_NOT, ip
from harness import (AUTH, CONNECT, ERGON, ERGOND, LIMIT, NO_CONTEXTS, SANITIZED, RemoteError, Server, build_module, eventually, make_token,
                     run_ergon, scratch, self_signed, trusting)


def until_closed(sock):
    try:
        while sock.recv(100):
            pass
    except ConnectionResetError:
        pass


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = scratch(self.addCleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as f:
                f.write(text)
        return path


@unittest.skipIf(WHY_NOT, WHY_NOT)
class KeptOut(Folder):
    """In a network namespace whose loopback interface has an address that is none of loopback."""

    ADDRESS = "198.51.100.1"

    def setUp(self):
        super().setUp()
        space = f"ergon-{os.getpid()}-kept-out"
        ip("netns", "add", space)
        self.addCleanup(ip, "netns", "del", space)
        ip("-n", space, "link", "set", "lo", "up")
        ip("-n", space, "addr", "add", self.ADDRESS + "/32", "dev", "lo")
        self.inside = ("ip", "netns", "exec", space)
        self.cert, key = self_signed(self.folder)
        self.right = self.path("right", make_token(self.path("tokens"), "alice"))
        self.wrong = self.path("wrong", "wrong")
        self.server = Server("--insecure", "--tokens", self.path("tokens"), "--tls-cert", self.cert, "--tls-key", key,
                             "--limits-penalty", "200s", listen=(f"ergon://{self.ADDRESS}:0", f"ergons://{self.ADDRESS}:0"),
                             wrapper=self.inside)
        self.addCleanup(self.server.discard)

    def ping(self, url, token):
        done = subprocess.run([*self.inside, ERGON, "--server", url, "--cacert", self.cert, "--server-name", "localhost",
                               "--token-file", token, "ping"], capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, **NO_CONTEXTS})
        return done.returncode, done.stderr

    def is_kept_out(self):
        eventually(lambda: "address kept out" in self.server.log_text(), "the log says so")
        for url in self.server.urls:
            status, said = self.ping(url, self.right)
            self.assertEqual(status, CONNECT, said)
            self.assertIn("limits.penalty", said)
            for advice in ("has TLS", "--cacert", "is ergond running"):
                self.assertNotIn(advice, said)

    def test_an_address_that_guesses_is_kept_out_and_told_so(self):
        for url in self.server.urls:
            self.assertEqual(self.ping(url, self.right)[0], 0)
        for _ in range(3):
            self.assertEqual(self.ping(self.server.urls[0], self.wrong)[0], AUTH)
        self.is_kept_out()

    def test_an_address_of_bad_handshakes_is_kept_out(self):
        plain = self.server.urls[1].replace("ergons", "ergon")
        for _ in range(13):
            self.assertEqual(self.ping(plain, self.right)[0], CONNECT)
        self.is_kept_out()


class Tls(Folder):
    def setUp(self):
        super().setUp()
        self.cert, self.key = self_signed(self.folder)

    def server(self, *flags):
        return Server("--tls-cert", self.cert, "--tls-key", self.key, *flags, listen=("ergons://127.0.0.1:0",))

    def test_both_versions_and_large_messages(self):
        with self.server() as server:
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = trusting(self.cert)
                context.minimum_version = context.maximum_version = version
                with server.connect(context=context) as client:
                    self.assertEqual(client.call("echo", b"x" * 3000000), b"x" * 3000000)
                    self.assertEqual(client.sock.version().replace(".", "_"), version.name)
                    ids = [client.send("echo", i) for i in range(3000)]
                    for i, msgid in enumerate(ids):
                        self.assertEqual(client.result(msgid), i)

    def test_older_versions_are_refused(self):
        with self.server() as server:
            context = trusting(self.cert)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises(ssl.SSLError):
                server.connect(context=context)

    def test_suites_are_authenticated_and_keep_secrets(self):
        """Of TLS 1.2: neither CBC nor a key exchange by the certificate's own key."""
        with self.server() as server:
            for suites, good in (("ECDHE+AESGCM", True), ("ECDHE+CHACHA20", True), ("ECDHE+AES:!AESGCM:!AESCCM", False),
                                 ("AES", True), ("kRSA", False)):
                context = trusting(self.cert)
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(suites)
                with self.subTest(suites):
                    if good:
                        with server.connect(context=context) as client:
                            self.assertRegex(client.sock.cipher()[0], "GCM|POLY1305")
                    else:
                        with self.assertRaises(ssl.SSLError):
                            server.connect(context=context)

    def test_a_common_name_is_no_name(self):
        """The command line wants the server's name among the subjectAltNames."""
        cert, key = self.path("cn.crt"), self.path("cn.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-out", cert, "-keyout", key],
                       check=True, capture_output=True)
        for name, status in ((cert, 3), (self.cert, 0)):
            with Server("--tls-cert", name, "--tls-key", key if name == cert else self.key,
                        listen=("ergons://127.0.0.1:0",)) as server:
                url = server.urls[0].replace("127.0.0.1", "localhost")
                got, _, err = run_ergon(url, "--cacert", name, "call", "echo", "1")
                self.assertEqual(got, status, err)
                if status != 0:
                    self.assertIn("not for localhost, but for no name", err)

    def test_a_session_is_resumed_on_any_loop(self):
        with self.server("--loops", "2") as server:
            context = trusting(self.cert)
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            first = server.connect(context=context)
            first.call("echo", 1)
            session = first.sock.session
            for _ in range(4):
                sock = socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT)
                tls = context.wrap_socket(sock, server_hostname="localhost", session=session)
                self.assertTrue(tls.session_reused)
                tls.close()
            first.close()

    def test_plain_bytes_at_a_tls_port_are_closed_and_the_others_served(self):
        with self.server() as server:
            with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as plain:
                plain.sendall(b"\x94\x00\x01\xa4echo\x91\x01")
                until_closed(plain)
            with server.connect(context=trusting(self.cert)) as client:
                self.assertEqual(client.call("echo", 1), 1)

    def test_a_handshake_that_does_not_end_is_given_up(self):
        with self.server("--limits-handshake-timeout", "100ms") as server:
            with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as silent:
                self.assertEqual(silent.recv(1), b"")

    def test_an_encrypted_key_needs_its_password_and_never_asks(self):
        subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:hush", "-in", self.key, "-out", self.key + ".enc"],
                       check=True, capture_output=True)
        self.key += ".enc"
        with self.assertRaises(AssertionError) as caught:
            self.server()
        self.assertIn(self.key, str(caught.exception))
        with Server("--tls-cert", self.cert, "--tls-key", self.key, listen=("ergons://127.0.0.1:0",),
                    env={"ERGON_TLS_KEY_PASSWORD_FILE": self.path("password", "hush\n")}) as server:
            with server.connect(context=trusting(self.cert)) as client:
                self.assertEqual(client.call("echo", 1), 1)
            self.assertNotIn("hush", server.log_text())

    def test_client_certificates_say_who(self):
        config = self.path("ergond.yaml", f"""
listen:
  - url: ergons://127.0.0.1:0
    auth: cert
    allow: ["echo", "server.*"]
    tls: {{cert: {self.cert}, key: {self.key}, client_ca: {{CA}}, client_cert: required}}
""")
        client_cert, client_key = self_signed(self.folder, "alice")
        with open(config) as f:
            text = f.read().replace("{CA}", client_cert)
        self.path("ergond.yaml", text)
        with Server("--config", config, listen=()) as server:
            server.urls.append(server.process.stdout.readline().strip())
            context = trusting(self.cert)
            context.load_cert_chain(client_cert, client_key)
            with server.connect(context=context) as client:
                self.assertEqual(client.call("server.hello")["principal"], "cert:alice")
                self.assertEqual(client.call("echo", 1), 1)
                with self.assertRaises(RemoteError) as caught:
                    client.call("sum", 1)
                self.assertEqual(caught.exception.code, "DENIED")
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                with server.connect(context=trusting(self.cert)) as nobody:
                    nobody.call("echo", 1)

    def test_sighup_takes_a_new_certificate_and_keeps_the_old_when_it_is_bad(self):
        new_cert, new_key = self_signed(scratch(self.addCleanup))
        with self.server() as server:
            old = trusting(self.cert)
            staying = server.connect(context=old)
            with open(self.cert) as f:
                before = f.read()
            self.path("localhost.crt", "no certificate")
            server.signal(signal.SIGHUP)
            eventually(lambda: "not reloaded" in server.log_text(), "the bad certificate is refused")
            server.connect(context=self.trusting_text(before)).close()
            os.replace(new_cert, self.cert)
            os.replace(new_key, self.key)
            server.signal(signal.SIGHUP)
            eventually(lambda: "msg=reloaded" in server.log_text() or "reloaded\n" in server.log_text()
                       or " reloaded" in server.log_text().replace("not reloaded", ""), "the new one is taken")
            eventually(lambda: self.accepts(server, trusting(self.cert)), "the new certificate is served")
            self.assertEqual(staying.call("echo", "still"), "still")
            staying.close()

    @staticmethod
    def trusting_text(pem):
        return ssl.create_default_context(cadata=pem)

    @staticmethod
    def accepts(server, context):
        try:
            with server.connect(context=context) as client:
                return client.call("echo", 1) == 1
        except ssl.SSLError:
            return False


class Unix(Folder):
    def test_a_unix_socket_and_its_mode(self):
        path = self.path("ergon.sock")
        with Server(listen=("unix://" + path,)) as server:
            with server.connect() as client:
                self.assertEqual(client.call("echo", "x"), "x")
            self.assertEqual(os.stat(path).st_mode & 0o007, 0)
        self.assertFalse(os.path.exists(path))

    def test_peer_credentials_say_who(self):
        path = self.path("ergon.sock")
        config = self.path("ergond.yaml", f"listen:\n  - url: unix://{path}\n    auth: peer\n")
        import pwd
        with Server("--config", config, listen=()) as server:
            server.urls.append(server.process.stdout.readline().strip())
            with server.connect() as client:
                self.assertEqual(client.call("server.hello")["principal"], "unix:" + pwd.getpwuid(os.getuid()).pw_name)

    @staticmethod
    def as_nobody(server):
        """Whose connection asks for a name that nobody knows yet."""
        os.seteuid(65534)
        try:
            return server.connect()
        finally:
            os.seteuid(0)

    @unittest.skipIf(SANITIZED, "a sanitizer wants to be loaded first")
    @unittest.skipUnless(os.getuid() == 0, "only root can be another user")
    def test_who_waits_for_a_name_holds_up_nobody(self):
        """The name service gives no answer about others than root until a file is there."""
        gate, path = self.path("gate"), f"/tmp/ergon-names-{os.getpid()}.sock"
        config = self.path("ergond.yaml", f"listen:\n  - url: unix://{path}\n    mode: 0666\n  - url: ergon://127.0.0.1:0\n")
        source = self.path("slow.c", """
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>
int getpwuid_r(uid_t uid, struct passwd *entry, char *space, size_t size, struct passwd **found)
{
    static char name[] = "late", refused[] = "REFUSED", root[] = "root";
    (void)space, (void)size;
    *found = entry;
    entry->pw_name = root;
    if (uid == 0)
        return 0;
    while (access(getenv("GATE"), F_OK) != 0)
        usleep(1000);
    *found = getenv(refused) ? NULL : entry;
    entry->pw_name = name;
    return getenv(refused) ? EIO : 0;
}
""")
        build_module(source, self.path("slow.so"), "-fPIC")
        for refused in ({}, {"REFUSED": "1"}):
            env = {"LD_PRELOAD": self.path("slow.so"), "GATE": gate, **refused}
            with Server("--loops", "1", "--config", config, listen=(), env=env) as server:
                server.urls += [server.process.stdout.readline().strip() for _ in range(2)]
                with server.connect(server.urls[1]) as client, self.as_nobody(server) as late, server.connect() as root:
                    self.assertEqual(root.call("server.hello")["principal"], "unix:root")
                    hello = late.send("server.hello")
                    for n in range(100):
                        self.assertEqual(client.call("echo", n), n)
                    self.path("gate", "")
                    if refused:
                        self.assertTrue(late.at_end())
                        eventually(lambda: "what its user is called" in server.log_text(), "the log says why")
                    else:
                        self.assertEqual(late.result(hello)["principal"], "unix:late")
                    self.assertEqual(client.call("echo", 1), 1)
            os.unlink(gate)

    def test_a_file_in_the_way_stays_and_is_named(self):
        path = self.path("ergon.sock", "precious")
        with self.assertRaises(AssertionError) as caught:
            Server(listen=("unix://" + path,))
        self.assertIn(f"{path}: there is a file that is no socket", str(caught.exception))
        with open(path) as f:
            self.assertEqual(f.read(), "precious")

    def test_what_kill_leaves_behind_is_replaced_but_not_a_living_server(self):
        path = self.path("ergon.sock")
        first = Server(listen=("unix://" + path,))
        first.process.kill()
        first.wait()
        first.process.stdout.close()
        with Server(listen=("unix://" + path,)) as second:
            with self.assertRaises(AssertionError) as caught:
                Server(listen=("unix://" + path,))
            self.assertIn(path, str(caught.exception))
            with second.connect() as client:
                self.assertEqual(client.call("echo", 1), 1)


class Tokens(Folder):
    def setUp(self):
        super().setUp()
        self.tokens = self.path("tokens", "")
        self.alice = make_token(self.tokens, "alice", "--methods", "echo,server.*")
        self.root = make_token(self.tokens, "root")
        self.config = self.path("ergond.yaml", f"""
tokens_file: {self.tokens}
listen:
  - url: ergon://127.0.0.1:0
    auth: token
""")

    def start(self, *flags):
        server = Server("--config", self.config, *flags, listen=())
        server.urls.append(server.process.stdout.readline().strip())
        return server

    def test_who_says_nothing_is_told_to_and_may_ping(self):
        with self.start() as server, server.connect() as client:
            self.assertEqual(client.call("server.ping"), "pong")
            with self.assertRaises(RemoteError) as caught:
                client.call("echo", 1)
            self.assertEqual(caught.exception.code, "AUTH")
            self.assertEqual(client.call("server.auth", self.alice), "token:alice")
            self.assertEqual(client.call("echo", 1), 1)
            with self.assertRaises(RemoteError) as caught:
                client.call("sum", 1)
            self.assertEqual(caught.exception.code, "DENIED")
            with self.assertRaises(RemoteError) as caught:
                client.call("task.call", "sum", [1])
            self.assertEqual(caught.exception.code, "DENIED")

    def test_wrong_tokens_end_the_connection(self):
        with self.start("--limits-auth-failures", "3") as server, server.connect() as client:
            for _ in range(3):
                with self.assertRaises(RemoteError) as caught:
                    client.call("server.auth", "wrong")
                self.assertEqual(caught.exception.code, "AUTH")
            self.assertTrue(client.at_end())
            self.assertNotIn("wrong", server.log_text())

    def test_who_does_not_say_who_it_is_in_time_is_closed(self):
        with self.start("--limits-auth-timeout", "300ms") as server:
            known = self.known_in_time(server)
            with server.connect() as silent:
                self.assertTrue(silent.at_end())
            self.assertEqual(known.call("echo", 1), 1)
            known.close()

    def known_in_time(self, server):
        """On a busy machine not each attempt is in time."""
        found = []

        def is_known():
            client = server.connect()
            try:
                found.append(client if client.call("server.auth", self.alice) == "token:alice" else None)
            except OSError:
                client.close()
            return found != []
        eventually(is_known, "alice says who she is")
        return found[0]

    def test_silent_connections_do_not_shut_out_who_says_who_it_is(self):
        """They take a quarter of the places, and each that had a second to speak makes room for the next."""
        with self.start("--limits-connections", "40", "--limits-penalty", "off") as server:
            silent = [server.connect() for _ in range(60)]
            large = self.known_in_time(server)
            self.assertEqual(large.call("echo", "x" * 100000), "x" * 100000)
            large.close()
            for client in silent:
                client.close()

    def test_guesses_keep_nobody_of_this_machine_out(self):
        with self.start("--limits-penalty", "200s", "--limits-auth-failures", "1") as server:
            for _ in range(4):
                with server.connect() as client:
                    with self.assertRaises(RemoteError) as caught:
                        client.call("server.auth", "wrong")
                    self.assertEqual(caught.exception.code, "AUTH")
                    self.assertTrue(client.at_end())
            with server.connect() as client:
                self.assertEqual(client.call("server.auth", self.alice), "token:alice")
            self.assertNotIn("address kept out", server.log_text())

    def test_a_large_message_has_to_wait_until_it_is_known_whose_it_is(self):
        with self.start() as server, server.connect() as client:
            with self.assertRaises(RemoteError) as caught:
                client.call("server.auth", "x" * 10000)
            self.assertEqual(caught.exception.code, "TOO_LARGE")
            self.assertTrue(client.at_end())

    def test_a_stranger_hears_no_version(self):
        with self.start() as server, server.connect() as client:
            self.assertIsNone(client.call("server.hello")["version"])
            client.call("server.auth", self.alice)
            self.assertRegex(client.call("server.hello")["version"], r"^\d+\.\d+")

    def test_files_that_others_may_touch_are_named(self):
        os.chmod(self.config, 0o666)
        os.chmod(self.tokens, 0o644)
        with self.start("--store", self.path("kept.db")) as server:
            self.assertEqual(server.stop(), 0)
            text = server.log_text()
        self.assertRegex(text, f"level=warn .*may write a file .* path={self.config} what=configuration")
        self.assertRegex(text, f"level=warn .*may read a file that is secret.* path={self.tokens} what=tokens")
        self.assertNotIn("what=store", text)
        os.chmod(self.config, 0o644)
        os.chmod(self.tokens, 0o640)
        with self.start() as server:
            self.assertEqual(server.stop(), 0)
            self.assertNotIn("may ", server.log_text())

    def test_the_command_line_reads_a_token_from_file_or_environment(self):
        with self.start() as server:
            token_file = self.path("my-token", self.root + "\n")
            url = server.urls[0]
            self.assertEqual(run_ergon(url, "--token-file", token_file, "call", "sum", "1", "2")[:2], (0, b"3\n"))
            self.assertEqual(run_ergon(url, "call", "sum", "1", env={"ERGON_TOKEN": self.root})[0], 0)
            self.assertEqual(run_ergon(url, "call", "sum", "1")[0], 4)
            self.assertEqual(run_ergon(url, "call", "sum", "1", env={"ERGON_TOKEN": self.alice})[0], 4)

    def test_sighup_reads_the_tokens_again(self):
        with self.start("--limits-auth-failures", "1000") as server:  # it is asked again until it is known
            bob = make_token(self.tokens, "bob")
            with server.connect() as client:
                with self.assertRaises(RemoteError):
                    client.call("server.auth", bob)
                server.signal(signal.SIGHUP)
                eventually(lambda: self.knows(client, bob), "bob's token is taken")

    @staticmethod
    def knows(client, token):
        try:
            return client.call("server.auth", token) == "token:bob"
        except RemoteError:
            return False
        except ConnectionError:
            raise AssertionError("closed before the token was taken")


class Limits(Folder):
    def test_connections_in_all_and_per_address(self):
        with Server("--limits-connections", "5") as server:
            held = [server.connect() for _ in range(5)]
            for client in held:
                client.call("echo", 1)
            with server.connect() as sixth:
                self.assertTrue(sixth.at_end())
            held.pop().close()
            eventually(lambda: self.served(server), "a place is free again")
            for client in held:
                client.close()
        with Server("--limits-connections-per-address", "2") as server:
            held = [server.connect() for _ in range(2)]
            for client in held:
                client.call("echo", 1)
            with server.connect() as third:
                self.assertTrue(third.at_end())
            for client in held:
                client.close()

    @staticmethod
    def served(server):
        try:
            with server.connect() as client:
                return client.call("echo", 1) == 1
        except ConnectionError:
            return False

    def test_in_flight_stops_reading_and_a_cancel_gets_through(self):
        with Server("--limits-in-flight", "4") as server, server.connect() as client:
            ids = [client.send("sleep", "60s") for _ in range(4)]
            behind = client.send("echo", "later")
            client.notify("server.cancel", ids[0])
            self.assertTrue(client.response(ids[0])[0].startswith("CANCELLED"))
            self.assertEqual(client.result(behind), "later")

    def test_idle_connections_are_closed(self):
        with Server("--limits-idle-timeout", "100ms") as server:
            with server.connect() as idle:
                self.assertTrue(idle.at_end())
            eventually(lambda: self.sleeps(server), "who calls in time is busy, and stays")

    @staticmethod
    def sleeps(server):
        """On a busy machine it may be idle before it is heard."""
        try:
            with server.connect() as busy:
                return busy.call("sleep", "300ms") >= 299
        except ConnectionError:
            return False

    def test_a_listener_has_an_idle_timeout_of_its_own(self):
        path = self.path("quick.sock")
        config = self.path("ergond.yaml", f"""
listen:
  - url: ergon://127.0.0.1:0
  - url: unix://{path}
    idle_timeout: 100ms
""")
        with Server("--config", config, listen=()) as server:
            server.urls += [server.process.stdout.readline().strip() for _ in range(2)]
            with server.connect(server.urls[0]) as patient, server.connect(server.urls[1]) as quick:
                self.assertTrue(quick.at_end())
                self.assertEqual(patient.call("echo", 1), 1)

    def test_beyond_loopback_needs_tls_or_a_token(self):
        done = subprocess.run([ERGOND, "--listen", "ergon://0.0.0.0:0"], capture_output=True, text=True,
                              timeout=LIMIT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--insecure", done.stderr)

    def test_ports_in_use_are_named(self):
        with Server() as server:
            with self.assertRaises(AssertionError) as caught:
                Server(listen=(server.urls[0],))
            self.assertIn(str(server.port), str(caught.exception))

    def test_v6(self):
        with Server(listen=("ergon://[::1]:0",)) as server, server.connect() as client:
            self.assertEqual(client.call("echo", 6), 6)

    def test_several_listeners(self):
        path = self.path("s.sock")
        with Server(listen=("ergon://127.0.0.1:0", "unix://" + path, "ergon://[::1]:0")) as server:
            for url in server.urls:
                with server.connect(url) as client:
                    self.assertEqual(client.call("echo", url), url)


class Unguarded(Folder):
    """Where nobody said who may do what, beyond this machine: it is said, and allowed."""

    def said(self, *flags):
        done = subprocess.run([ERGOND, *flags, "--check-config"], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_whoever_comes_may_do_everything(self):
        everywhere = ("--listen", "ergon://0.0.0.0:0", "--insecure")
        here = ("--listen", "ergon://127.0.0.1:0", "--listen", f"unix://{self.folder}/socket")
        said = self.said(*everywhere, *here)
        self.assertIn("ergon://0.0.0.0:0: anyone who reaches this listener may do everything", said)
        self.assertEqual(len(said.splitlines()), 1)
        self.assertEqual(self.said(*here), "")
        cert, key = self_signed(self.folder)
        self.assertIn("everything", self.said("--listen", "ergons://0.0.0.0:0", "--tls-cert", cert, "--tls-key", key))
        self.assertEqual(self.said(*everywhere, "--tokens", self.path("tokens", "")), "")
        role = "roles: [{name: r, members: ['address:*'], methods: ['*']}]\n"
        self.assertEqual(self.said(*everywhere, "--config", self.path("roles.yaml", role)), "")
        allow = "listen: [{url: 'ergon://0.0.0.0:0', allow: [echo], insecure: true}]\n"
        self.assertEqual(self.said("--config", self.path("allow.yaml", allow)), "")


if __name__ == "__main__":
    unittest.main()
