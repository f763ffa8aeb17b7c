"""Client certificates that were revoked: refused at the handshake, closed at a reload; lists that have ended."""
import os
import signal
import ssl
import subprocess
import unittest

from harness import ERGOND, LIMIT, OK, USAGE, Server, eventually, scratch, self_signed, trusting

CA = """
[ca]
default_ca = one
[one]
database = {folder}/index
serial = {folder}/serial
new_certs_dir = {folder}
certificate = {folder}/ca.crt
private_key = {folder}/ca.key
default_md = sha256
default_days = 30
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


class Authority(unittest.TestCase):
    """Our authority, two clients that it has signed for, and its list."""

    def setUp(self):
        self.folder = scratch(self.addCleanup)
        self.cert, self.key = self_signed(self.folder)
        with open(self.at("ca.conf"), "w") as out:
            out.write(CA.format(folder=self.folder))
        open(self.at("index"), "w").close()
        with open(self.at("serial"), "w") as out:
            out.write("1000\n")
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                     "-subj", "/CN=our authority", "-out", self.at("ca.crt"), "-keyout", self.at("ca.key"))
        self.clients = {name: self.client(name) for name in ("alice", "bob")}
        self.make_list()

    def at(self, name):
        return os.path.join(self.folder, name)

    @staticmethod
    def openssl(*arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr

    def client(self, name, authority="ca.conf"):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-addext", f"subjectAltName=DNS:{name}", "-out", self.at(f"{name}.csr"), "-keyout",
                     self.at(f"{name}.key"))
        self.openssl("ca", "-batch", "-config", self.at(authority), "-in", self.at(f"{name}.csr"), "-out",
                     self.at(f"{name}.crt"), "-notext")
        return self.at(f"{name}.crt"), self.at(f"{name}.key")

    def revoke(self, name):
        self.openssl("ca", "-config", self.at("ca.conf"), "-revoke", self.clients[name][0])

    def make_list(self, *dates):
        self.openssl("ca", "-config", self.at("ca.conf"), "-gencrl", "-out", self.at("crl.pem"),
                     *(dates or ("-crldays", "30")))

    def context(self, name, version=None):
        context = trusting(self.cert)
        context.load_cert_chain(*self.clients[name])
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def reload(self, server):
        before = server.log_text().count("msg=reloaded")
        server.signal(signal.SIGHUP)
        eventually(lambda: server.log_text().count("msg=reloaded") > before, "every loop goes by what is new")


class Lists(Authority):
    def make_middle(self):
        """An authority between ours and carol."""
        with open(self.at("middle.conf"), "w") as out:
            out.write(CA.format(folder=self.folder).replace("/index", "/index2").replace("/ca.", "/middle."))
        open(self.at("index2"), "w").close()
        with open(self.at("authority.ext"), "w") as out:
            out.write("basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\nkeyUsage=keyCertSign,cRLSign\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=middle",
                     "-out", self.at("middle.csr"), "-keyout", self.at("middle.key"))
        self.openssl("ca", "-batch", "-config", self.at("ca.conf"), "-in", self.at("middle.csr"), "-out",
                     self.at("middle.crt"), "-notext", "-extfile", self.at("authority.ext"))
        cert, key = self.client("carol", "middle.conf")
        with open(cert, "a") as out, open(self.at("middle.crt")) as middle:
            out.write(middle.read())
        self.clients["carol"] = cert, key
        self.make_lists()

    def make_lists(self):
        self.make_list()
        self.openssl("ca", "-config", self.at("middle.conf"), "-gencrl", "-out", self.at("middle.pem"), "-crldays", "30")
        with open(self.at("crl.pem"), "a") as out, open(self.at("middle.pem")) as middle:
            out.write(middle.read())

    def config(self):
        path = self.at("ergond.yaml")
        with open(path, "w") as out:
            out.write(f"""
tls: {{cert: {self.cert}, key: {self.key}, client_ca: {self.at("ca.crt")}, crl: {self.at("crl.pem")}}}
listen:
  - url: ergons://127.0.0.1:0
    auth: cert
""")
        return path

    def serve(self):
        server = Server("--config", self.config(), listen=())
        self.addCleanup(server.discard)
        server.urls.append(server.process.stdout.readline().strip())
        return server

    def connect(self, server, name):
        return self.connect_by(server, self.context(name))

    def connect_by(self, server, context, session=None):
        client = server.connect(context=context, session=session)
        self.addCleanup(client.close)
        return client

    def session_of(self, server, context):
        client = self.connect_by(server, context)
        self.assertEqual(client.call("echo", 1), 1)  # in TLS 1.3 the ticket comes with the first answer
        session = client.sock.session
        client.close()
        return session

    def resume(self, server, context):
        client = self.connect_by(server, context, self.session_of(server, context))
        self.assertEqual(client.call("echo", 1), 1)
        self.assertTrue(client.sock.session_reused)
        return client

    def gets_in(self, server, name):
        return self.gets_in_by(server, self.context(name))

    def gets_in_by(self, server, context, session=None):
        try:
            return self.connect_by(server, context, session).call("echo", 1) == 1
        except (ssl.SSLError, ConnectionError, EOFError, AssertionError):
            return False

    def check(self):
        done = subprocess.run([ERGOND, "--config", self.config(), "--check-config"], capture_output=True, text=True,
                              timeout=LIMIT)
        return done.returncode, done.stderr

    def test_who_was_revoked_does_not_get_in(self):
        self.revoke("bob")
        self.make_list()
        server = self.serve()
        self.assertTrue(self.gets_in(server, "alice"))
        self.assertFalse(self.gets_in(server, "bob"))
        eventually(lambda: "certificate revoked" in server.log_text(), "the log says why")

    def test_a_reload_closes_who_was_revoked(self):
        server = self.serve()
        alice, bob = self.connect(server, "alice"), self.connect(server, "bob")
        self.assertEqual((alice.call("echo", 1), bob.call("echo", 1)), (1, 1))
        self.revoke("bob")
        self.make_list()
        server.signal(signal.SIGHUP)
        self.assertTrue(bob.at_end())
        eventually(lambda: "its certificate was revoked" in server.log_text(), "the log says why")
        self.assertEqual(alice.call("echo", 2), 2)
        self.assertFalse(self.gets_in(server, "bob"))

    def test_no_session_of_before_a_new_list_is_resumed(self):
        for version in VERSIONS:
            with self.subTest(version):
                server = self.serve()
                bob = f"bob{version.value}"
                self.clients[bob] = self.client(bob)
                contexts = {name: self.context(name, version) for name in ("alice", bob)}
                sessions = {name: self.session_of(server, context) for name, context in contexts.items()}
                client = self.connect_by(server, contexts[bob], sessions[bob])
                self.assertTrue(client.sock.session_reused)
                client.close()
                self.revoke(bob)
                self.make_list()
                self.reload(server)
                alice = self.connect_by(server, contexts["alice"], sessions["alice"])
                self.assertEqual(alice.call("echo", 1), 1)
                self.assertFalse(alice.sock.session_reused)
                self.assertFalse(self.gets_in_by(server, contexts[bob], sessions[bob]))

    def test_who_has_resumed_is_verified_once_more(self):
        """With the authority between, which a session does not hold, that cannot be done: it may come again."""
        self.make_middle()
        for version in VERSIONS:
            with self.subTest(version):
                server = self.serve()
                alice, bob, carol = (self.resume(server, self.context(name, version)) for name in ("alice", "bob", "carol"))
                whole = self.connect(server, "carol")
                self.assertEqual(whole.call("echo", 1), 1)
                self.reload(server)  # of the same files: nothing is to be verified
                self.assertEqual(carol.call("echo", 2), 2)
                self.revoke("bob")
                self.make_lists()
                self.reload(server)
                self.assertTrue(bob.at_end())
                self.assertTrue(carol.at_end())
                eventually(lambda: "since its session was resumed" in server.log_text(), "the log says why")
                self.assertEqual((alice.call("echo", 3), whole.call("echo", 3)), (3, 3))
                self.assertTrue(self.gets_in(server, "carol"))
                self.clients["bob"] = self.client("bob")

    def test_an_authority_that_is_revoked_takes_its_own_along(self):
        self.make_middle()
        server = self.serve()
        alice, carol = self.connect(server, "alice"), self.connect(server, "carol")
        self.assertEqual((alice.call("echo", 1), carol.call("echo", 1)), (1, 1))
        self.clients["middle"] = (self.at("middle.crt"), self.at("middle.key"))
        self.revoke("middle")
        self.make_lists()
        self.reload(server)
        self.assertTrue(carol.at_end())
        self.assertEqual(alice.call("echo", 2), 2)
        self.assertFalse(self.gets_in(server, "carol"))

    def test_an_authority_that_is_trusted_no_more_closes_its_clients(self):
        server = self.serve()
        alice = self.connect(server, "alice")
        self.assertEqual(alice.call("echo", 1), 1)
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                     "-subj", "/CN=another authority", "-out", self.at("ca.crt"), "-keyout", self.at("other.key"))
        self.reload(server)
        self.assertTrue(alice.at_end())
        eventually(lambda: "its certificate is trusted no more" in server.log_text(), "the log says why")

    def test_with_a_list_that_has_ended_no_session_is_resumed(self):
        for seconds in ("8", "30"):  # a busy machine may need more until the sessions are made
            self.make_list("-crlsec", seconds)
            server = self.serve()
            try:
                sessions = [(context, self.session_of(server, context))
                            for context in (self.context("alice", version) for version in VERSIONS)]
                break
            except OSError:
                server.stop()
        else:
            self.fail("the list ends before there are sessions")
        eventually(lambda: not any(self.gets_in_by(server, *each) for each in sessions), "the list has ended")
        eventually(lambda: "CRL has expired" in server.log_text(), "the log says why")

    def test_a_list_that_has_ended_lets_nobody_in_and_is_nobodys_fault(self):
        self.make_list("-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200102000000Z")
        server = self.serve()
        eventually(lambda: "the list of revoked certificates has ended" in server.log_text(), "the start says so")
        for _ in range(20):  # its address pays for none of these
            self.assertFalse(self.gets_in(server, "alice"))
        eventually(lambda: "CRL has expired" in server.log_text(), "the log says why")
        self.assertNotIn("address kept out", server.log_text())
        status, said = self.check()
        self.assertEqual(status, USAGE)
        self.assertIn("the list of revoked certificates has ended", said)
        self.make_list()
        server.signal(signal.SIGHUP)
        eventually(lambda: self.gets_in(server, "alice"), "with a new list they get in")

    def test_a_list_that_ends_soon_is_said(self):
        self.make_list("-crlhours", "5")
        server = self.serve()
        eventually(lambda: "the list of revoked certificates ends in" in server.log_text(), "the start warns")
        self.assertTrue(self.gets_in(server, "alice"))
        status, said = self.check()
        self.assertEqual(status, OK)
        self.assertIn("the list of revoked certificates ends in", said)

    def test_what_is_no_list_is_refused(self):
        with open(self.at("crl.pem"), "w") as out:
            out.write("no list\n")
        status, said = self.check()
        self.assertEqual(status, USAGE)
        self.assertIn("holds no list of revoked certificates", said)
        server = Server("--config", self.config(), listen=())
        self.addCleanup(server.discard)
        self.assertEqual(server.process.wait(LIMIT), 1)


if __name__ == "__main__":
    unittest.main()
