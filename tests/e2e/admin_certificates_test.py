#!/usr/bin/python3
"""Client certificates at the admin listener: they say who one is, as at any other, and who has none, or shows it for somebody else, is nobody."""
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import unittest

from admin_client import JSON, Admin, refusal
from crl_test import Authority
from harness import ERGOND, LIMIT, Server, eventually, self_signed, token_of, trusting, write_tokens

ROLES = """
roles:
  - {name: operators, members: ["cert:alice"], methods: ["*", "task.any"], tenants: ["*"]}
  - {name: others, members: ["cert:bob"], methods: ["echo"]}
"""


class Certificates(Authority):
    def serve(self, more="auth: cert", top="", client_ca=None):
        """A server with one admin listener; its URL."""
        path = self.at("ergond.yaml")
        with open(path, "w") as out:
            out.write(f"""
tls: {{cert: {self.cert}, key: {self.key}, client_ca: {client_ca or self.at("ca.crt")}, crl: {self.at("crl.pem")}}}
listen: ["ergon://127.0.0.1:0"]
admin: {{listen: [{{url: "https://127.0.0.1:0", {more}}}]}}
{ROLES}{top}
""")
        self.server = Server("--config", path, listen=())
        self.addCleanup(self.server.discard)
        lines = [self.server.process.stdout.readline().strip() for _ in range(2)]
        self.server.urls.append(next((line for line in lines if line.startswith("ergon://")), None))
        self.url = next((line for line in lines if line.startswith("https://")), None)
        self.assertTrue(self.url, self.server.log_text())
        return self.server

    def somebody(self, name=None):
        return Admin(self.url, self.context(name) if name else trusting(self.cert))

    def signed_in(self, name):
        admin = self.somebody(name)
        eventually(lambda: admin.sign_in()[0] == 200, f"{name} signs in")
        return admin

    def ready(self, name="alice"):
        admin = self.somebody(name)
        eventually(lambda: admin.text("/readyz")[0] == 200, "/readyz says that the server has started")

    def kept(self, admin):
        """A connection that stays open: ask(method, path, body, headers), (status, JSON)."""
        connection = admin.connection()
        self.addCleanup(connection.close)

        def ask(method, path, body=None, headers=()):
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        return ask

    # Who one is.

    def test_a_certificate_signs_in_and_has_its_rights(self):
        self.serve()
        alice, bob = self.signed_in("alice"), self.signed_in("bob")
        self.assertEqual((alice.principal, bob.principal), ("cert:alice", "cert:bob"))
        self.assertEqual(alice.call("server.whoami")[1]["result"]["principal"], "cert:alice")
        self.assertEqual(bob.call("echo", 1), (200, {"result": 1}))
        self.assertEqual(refusal(bob.call("server.info")), (403, "DENIED"))
        for name, status in (("alice", 200), ("bob", 403)):
            self.assertEqual(self.somebody(name).text("/debug/topology")[0], status, name)
        status, said = alice.call("connection.list")
        seen = {c["principal"] for c in said["result"]["connections"] if c["listener"].startswith("https://")}
        self.assertEqual((status, seen), (200, {"cert:alice", "cert:bob"}))

    def test_without_one_nobody_gets_in(self):
        self.serve()
        self.ready()
        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            self.somebody().text("/healthz")
        strange = os.path.join(self.folder, "strange")
        os.mkdir(strange)
        context = trusting(self.cert)
        context.load_cert_chain(*self_signed(strange, "alice"))
        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            Admin(self.url, context).text("/healthz")
        self.ready()

    def test_where_it_may_be_left_out_a_token_does_instead(self):
        tokens = write_tokens(self.folder, {"carol": "echo"})
        self.serve("auth: cert, tls: {client_cert: optional}", f"tokens_file: {tokens}")
        alice, carol = self.signed_in("alice"), self.somebody()
        self.assertEqual(refusal(carol.sign_in()), (401, "AUTH"))
        self.assertEqual(carol.sign_in(token_of("carol"))[0], 200)
        self.assertEqual((alice.principal, carol.principal), ("cert:alice", "token:carol"))
        both = self.somebody("alice")
        self.assertEqual(both.sign_in(token_of("carol"))[0], 200)
        self.assertEqual(both.principal, "token:carol", "who shows both is who the token names")
        self.assertEqual(both.call("echo", 1), (200, {"result": 1}))

    def test_where_a_token_is_asked_for_a_certificate_is_no_name(self):
        tokens = write_tokens(self.folder, {"carol": "echo"})
        self.serve("auth: token, tls: {client_cert: required}", f"tokens_file: {tokens}")
        self.ready()
        admin = self.somebody("alice")
        self.assertEqual(refusal(admin.sign_in()), (401, "AUTH"))
        self.assertEqual(admin.sign_in(token_of("carol"))[0], 200)
        self.assertEqual(admin.principal, "token:carol")

    def test_where_nobody_is_asked_it_is_no_name_either(self):
        self.serve("auth: none, tls: {client_cert: optional}")
        alice = self.signed_in("alice")
        self.assertEqual(alice.principal, "address:127.0.0.1")
        self.assertTrue(alice.api("GET", "/api/session")[1]["principal"])
        other = self.somebody()
        other.cookie, other.csrf = alice.cookie, alice.csrf
        self.assertTrue(other.api("GET", "/api/session")[1]["principal"], "so the session is not bound to it")

    def test_one_that_names_nobody_is_refused_with_a_reason(self):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=mallory", "-out", self.at("mallory.csr"), "-keyout", self.at("mallory.key"))
        self.openssl("ca", "-batch", "-config", self.at("ca.conf"), "-in", self.at("mallory.csr"), "-out", self.at("mallory.crt"), "-notext")
        self.clients["mallory"] = self.at("mallory.crt"), self.at("mallory.key")
        self.serve()
        self.ready("mallory")
        status, said = self.somebody("mallory").sign_in()
        self.assertEqual((status, said["error"]["code"]), (401, "AUTH"))
        self.assertIn("subjectAltName", said["error"]["text"])
        self.assertEqual(self.somebody("mallory").text("/debug/topology")[0], 401)

    def test_by_curl(self):
        self.serve()
        self.ready()
        cert, key = self.clients["alice"]
        port = self.url.rsplit(":", 1)[1]
        done = subprocess.run(["curl", "-sS", "--cacert", self.cert, "--cert", cert, "--key", key, f"https://localhost:{port}/debug/topology"], capture_output=True, text=True, timeout=LIMIT)
        self.assertIn("loops", json.loads(done.stdout), done.stderr)

    # What a browser that shows its certificate to everybody may be made to do.

    def test_a_session_counts_only_where_its_certificate_is_shown(self):
        self.serve("auth: cert, tls: {client_cert: optional}")
        alice = self.signed_in("alice")
        for thief in (self.somebody("bob"), self.somebody()):
            thief.cookie, thief.csrf = alice.cookie, alice.csrf
            self.assertEqual(refusal(thief.call("echo", 1)), (401, "AUTH"))
            self.assertEqual(thief.ask("GET", "/api/live")[0], 401)
            self.assertEqual(refusal(thief.api("DELETE", "/api/session")), (401, "AUTH"))
        self.assertEqual(alice.call("echo", 1), (200, {"result": 1}))

    def test_a_page_of_somebody_else_does_not_use_it(self):
        self.serve("auth: cert, tls: {client_cert: optional}")
        alice = self.signed_in("alice")
        fresh = self.somebody("alice")
        for site in ("cross-site", "same-site", "unheard-of"):
            self.assertEqual(fresh.ask("GET", "/debug/topology", headers={"Sec-Fetch-Site": site})[0], 401, site)
            self.assertEqual(fresh.ask("POST", "/api/session", "{}", {**JSON, "Sec-Fetch-Site": site})[0], 401, site)
        for site in ("same-origin", "none"):
            self.assertEqual(fresh.ask("GET", "/debug/topology", headers={"Sec-Fetch-Site": site})[0], 200, site)
        # Without these headers, as older browsers: what changes anything has to come from our page, and to know the session's word.
        self.assertEqual(fresh.ask("POST", "/api/session", "{}", {**JSON, "Origin": "https://evil.example"})[0], 403)
        self.assertEqual(fresh.ask("POST", "/api/session", "{}", {"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(fresh.ask("OPTIONS", "/api/session", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"})[0], 501)
        self.assertEqual(fresh.ask("POST", "/api/call", '{"method": "echo"}', JSON)[0], 401, "the certificate alone calls nothing")
        self.assertEqual(alice.ask("POST", "/api/call", '{"method": "echo"}', JSON)[0], 403, "nor does the cookie")

    # Reloads.

    def test_a_reload_that_revokes_it_ends_session_stream_and_connections(self):
        self.serve()
        alice, bob = self.signed_in("alice"), self.signed_in("bob")
        stays, goes = self.kept(alice), self.kept(bob)
        own = {"Cookie": alice.cookie}
        self.assertIn("csrf", goes("GET", "/api/session", headers={"Cookie": bob.cookie})[1])
        self.assertIn("csrf", stays("GET", "/api/session", headers=own)[1])
        stream = bob.connection()
        self.addCleanup(stream.close)
        stream.request("GET", "/api/live", headers={"Cookie": bob.cookie})
        live = stream.getresponse()
        self.revoke("bob")
        self.make_list()
        self.reload(self.server)
        eventually(lambda: alice.call("connection.list")[1]["result"]["connections"] and "cert:bob" not in
                   {c["principal"] for c in alice.call("connection.list")[1]["result"]["connections"]}, "bob's connection to the server ends")
        with contextlib.suppress(OSError, http.client.HTTPException):
            while live.read(1):
                pass
        with self.assertRaises((OSError, http.client.HTTPException)):
            goes("POST", "/api/session", "{}", JSON)
        with self.assertRaises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            self.somebody("bob").text("/healthz")
        self.assertIn("csrf", stays("GET", "/api/session", headers=own)[1], "who was not revoked keeps connection and session")
        self.assertIn("admin session ended", self.server.log_text())

    def test_a_reload_of_the_same_ends_nothing(self):
        self.serve()
        alice = self.signed_in("alice")
        ask = self.kept(alice)
        for _ in range(3):
            self.reload(self.server)
            self.assertIn("csrf", ask("GET", "/api/session", headers={"Cookie": alice.cookie})[1])

    def test_a_reload_believes_no_other_authority_than_before(self):
        """Paths of the configuration need a restart: what another entry says must not become this one's."""
        self.serve()
        self.signed_in("alice")
        path = self.at("ergond.yaml")
        with open(path) as f:
            said = f.read()
        with open(path, "w") as out:
            out.write(said.replace("client_ca: " + self.at("ca.crt"), "client_ca: " + self.cert).replace(", crl: " + self.at("crl.pem"), ""))
        self.reload(self.server)
        self.assertEqual(self.somebody("alice").sign_in()[0], 200)

    def test_a_reload_that_takes_rights_away_ends_the_session(self):
        self.serve()
        bob = self.signed_in("bob")
        path = self.at("ergond.yaml")
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace('methods: ["echo"]', 'methods: ["hash"]'))
        self.server.signal(signal.SIGHUP)
        eventually(lambda: bob.api("GET", "/api/session")[1]["principal"] is None, "the session ends with its rights")

    def test_no_session_of_tls_is_resumed(self):
        """Each connection shows its certificate, so that lists and authorities are asked each time."""
        self.serve()
        self.ready()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context("alice", version)
            first = Admin(self.url, context).connection()
            self.addCleanup(first.close)
            first.request("GET", "/healthz")
            first.getresponse().read()
            session = first.sock.session
            self.assertFalse(session and session.has_ticket)
            with socket.create_connection(("127.0.0.1", first.port), timeout=LIMIT) as plain, context.wrap_socket(plain, server_hostname="localhost", session=session) as again:
                self.assertFalse(again.session_reused)

    def test_what_makes_no_sense_is_refused(self):
        for more, says in (("auth: cert, tls: {client_cert: none}", "client_cert"), ("tls: {client_cert: required, client_ca: /nowhere}", "/nowhere")):
            path = self.at("bad.yaml")
            with open(path, "w") as out:
                out.write(f'tls: {{cert: {self.cert}, key: {self.key}, client_ca: {self.at("ca.crt")}}}\nadmin: {{listen: [{{url: "https://127.0.0.1:0", {more}}}]}}\n')
            done = subprocess.run([ERGOND, "--config", path, "--listen", "ergon://127.0.0.1:0"], capture_output=True, text=True, timeout=LIMIT)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
