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


class Lists(unittest.TestCase):
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

    def client(self, name):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-addext", f"subjectAltName=DNS:{name}", "-out", self.at(f"{name}.csr"), "-keyout",
                     self.at(f"{name}.key"))
        self.openssl("ca", "-batch", "-config", self.at("ca.conf"), "-in", self.at(f"{name}.csr"), "-out",
                     self.at(f"{name}.crt"), "-notext")
        return self.at(f"{name}.crt"), self.at(f"{name}.key")

    def revoke(self, name):
        self.openssl("ca", "-config", self.at("ca.conf"), "-revoke", self.clients[name][0])

    def make_list(self, *dates):
        self.openssl("ca", "-config", self.at("ca.conf"), "-gencrl", "-out", self.at("crl.pem"),
                     *(dates or ("-crldays", "30")))

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
        context = trusting(self.cert)
        context.load_cert_chain(*self.clients[name])
        client = server.connect(context=context)
        self.addCleanup(client.close)
        return client

    def gets_in(self, server, name):
        try:
            return self.connect(server, name).call("echo", 1) == 1
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
