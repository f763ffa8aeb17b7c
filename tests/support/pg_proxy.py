"""A proxy between a client of PostgreSQL and its server, which knows where messages end and closes connections there.

    proxy = Proxy(cluster.primary, folder)
    link = psycopg2.connect(proxy.url("ergon", "ergon"))
    cut = proxy.cut("backend", 0, close=("client",), committed=True)   # the commit is done, its answer is lost
    … the client's next batch fails …
    cut.reached.wait(LIMIT)
    cut.release()

A batch is what a client sends up to a Sync or a simple Query, and what the server answers up to ReadyForQuery.  Boundary n of
a side is where n messages of this side have been passed on.  What comes before the first ReadyForQuery is in no batch.
A request for TLS is answered by "no": messages have to be readable.
"""
import collections
import os
import socket
import struct
import threading
import time

import postgres

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
SIDES = ("frontend", "backend")  # who says a message
ENDS = ("client", "server")  # of a session


class Batch:
    """One batch: its messages (type and body), by side, as far as they came."""

    def __init__(self, number):
        self.number = number
        self.frontend, self.backend = [], []
        self.answered = False  # by a ReadyForQuery
        self.buffered = []  # what a cut keeps back until the server has answered all

    def types(self, side):
        """A letter a message: as "PBDES" and "12nCZ"."""
        return "".join(chr(message[0]) for message in getattr(self, side))

    def has(self, text):
        """Did the client send these bytes?"""
        return any(text in message for message in self.frontend)


class Cut:
    """What is to happen to one batch, and whether it has.  See Proxy.cut()."""

    def __init__(self, side, at, close, committed, where, skip, after):
        self.side, self.at, self.close, self.committed = side, at, close, committed
        self.where, self.skip, self.after = where, skip, after
        self.skipped = set()
        self.batch = self.session = None
        self.reached = threading.Event()  # the connections are closed
        self.answered = threading.Event()  # the server has answered the whole batch, or its connection is closed

    def takes(self, batch):
        """Is this the batch?  The lock is held."""
        if self.batch is None and batch.number > self.after and batch.number not in self.skipped and self.where(batch):
            if len(self.skipped) < self.skip:
                self.skipped.add(batch.number)
            else:
                self.batch = batch
        return self.batch is batch

    def release(self):
        """Closes what the cut left open."""
        if self.session is not None:
            self.session.end()


def split(buffer, typed):
    """Takes the first message from a bytearray: its bytes, or None when it is not there as a whole."""
    head = 5 if typed else 4
    if len(buffer) < head:
        return None
    size = struct.unpack_from("!I", buffer, head - 4)[0] + (1 if typed else 0)
    if len(buffer) < size:
        return None
    message = bytes(buffer[:size])
    del buffer[:size]
    return message


class Session:
    """One client and its connection to the server; a thread for each direction."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, client
        self.server = None
        self.batches = []  # those that are not answered; the server answers the first
        self.sending = None  # the one to which the client adds messages
        self.ready = False  # the start is over
        self.in_copy = False
        self.is_cut = False  # nothing is passed on any more
        self.closed = set()
        self.running = 1  # threads
        threading.Thread(target=self.run, args=(self.from_client,), daemon=True).start()

    def run(self, pump):
        try:
            pump()
        except OSError:
            pass
        finally:
            self.proxy.thread_ended(self)

    # Each direction.

    def from_client(self):
        buffer, typed = bytearray(), False
        while data := self.client.recv(1 << 16):
            buffer += data
            while (message := split(buffer, typed)) is not None:
                self.proxy.wait_open()
                if typed:
                    if not self.pass_frontend(message):
                        return
                elif struct.unpack_from("!I", message, 4)[0] in (SSL_REQUEST, GSS_REQUEST):
                    self.client.sendall(b"N")
                else:
                    self.server = self.proxy.connect_upstream()
                    self.server.sendall(message)
                    typed = True
                    self.running += 1
                    threading.Thread(target=self.run, args=(self.from_server,), daemon=True).start()
        if "client" not in self.closed and not self.is_cut:
            self.end()

    def from_server(self):
        buffer = bytearray()
        while data := self.server.recv(1 << 16):
            buffer += data
            while (message := split(buffer, True)) is not None:
                self.proxy.wait_open()
                self.pass_backend(message)
        for batch in self.batches:
            self.flush(batch)
        self.closed.add("server")
        if not self.is_cut:
            self.end()

    def frontend_batch(self, kind):
        """The batch of a message of the client; None where it is in none."""
        if not self.ready or kind == "X":
            return None
        if self.sending is None and (kind in "dcf" or (kind == "S" and self.in_copy)) and self.batches:
            self.in_copy = kind != "S"
            return self.batches[-1]  # its COPY; the Sync before it did not count
        if self.sending is None:
            self.sending = self.proxy.new_batch()
            self.batches.append(self.sending)
        batch = self.sending
        if kind in "SQ":
            self.sending = None
        return batch

    def pass_frontend(self, message):
        """False: no more is to be passed on."""
        if self.is_cut:
            return False
        batch = self.frontend_batch(chr(message[0]))
        if batch is not None:
            batch.frontend.append(message)
            if len(batch.frontend) == 1 and self.proxy.is_due("frontend", 0, batch, self):
                return False
        self.server.sendall(message)
        return batch is None or not self.proxy.is_due("frontend", len(batch.frontend), batch, self)

    def pass_backend(self, message):
        kind = chr(message[0])
        batch = self.batches[0] if self.batches else None
        if batch is None:
            self.ready = self.ready or kind == "Z"
            self.to_client(message)
            return
        whole = self.proxy.kept_until_answered(batch)
        batch.backend.append(message)
        batch.buffered.append(message)
        if kind == "Z":
            batch.answered = True
            self.batches.pop(0)
        if not whole or batch.answered:
            self.flush(batch)
        if batch.answered:
            self.proxy.answered(batch)

    def flush(self, batch):
        passed = len(batch.backend) - len(batch.buffered)
        for message in batch.buffered:
            if passed == 0:
                self.proxy.is_due("backend", 0, batch, self)
            self.to_client(message)
            passed += 1
            self.proxy.is_due("backend", passed, batch, self)
        batch.buffered.clear()

    def to_client(self, message):
        if not self.is_cut and "client" not in self.closed:
            try:
                self.client.sendall(message)
            except OSError:  # it has gone; what the server says is looked at all the same
                self.closed.add("client")

    # The end.

    def close(self, sides):
        for side in sides:
            self.closed.add(side)
            end = getattr(self, side)
            if end is not None:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def end(self):
        self.close(ENDS)
        self.proxy.forget(self)

    def is_over(self):
        """No thread reads, and nothing is left open on purpose."""
        return self.running == 0 and len(self.closed) == 2


class Proxy:
    """Listens in `folder` and on 127.0.0.1, at one port, for clients of `server`: a postgres.Server, or (address, port).
    `server` may be set to another: new connections go there."""

    address = "127.0.0.1"

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.lock = threading.RLock()
        self.open, self.pause = threading.Event(), 0.0
        self.open.set()
        self.cuts, self.sessions, self.begun = [], set(), 0
        self.recent = collections.deque(maxlen=1000)  # batches, as they began
        tcp = socket.socket()
        tcp.bind(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        self.path = os.path.join(folder, f".s.PGSQL.{self.port}")
        local = socket.socket(socket.AF_UNIX)
        local.bind(self.path)
        os.chmod(self.path, 0o777)  # it is the folder that keeps others out
        self.listeners = (tcp, local)
        for listener in self.listeners:
            listener.listen(64)
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def url(self, dbname="postgres", user=postgres.ADMIN, tcp=False, **parameters):
        return postgres.url_of([self], dbname, user, tcp, **parameters)

    @property
    def last(self):
        """The batch that began last."""
        return self.recent[-1]

    def batches(self):
        """Those that began last, of all connections, as they began."""
        with self.lock:
            return list(self.recent)

    # What a test asks for.

    def cut(self, side, at, close=ENDS, committed=False, where=lambda batch: True, skip=0):
        """Closes connections of the next batch that begins now and for which `where(batch)` holds, after `skip` of them.

        side, at   when so many messages of the "frontend" or "backend" have been passed on
        close      both, one, or none; from then on nothing is passed on, and what is left open stays so until release()
        committed  backend only: all answers are kept back until the server has given the last, so the batch is committed (or
                   has failed) before the client gets the first `at` answers
        """
        assert side in SIDES and not (committed and side == "frontend")
        with self.lock:
            cut = Cut(side, at, close, committed, where, skip, self.begun)
            self.cuts.append(cut)
        return cut

    def hold(self):
        """From now on nothing is passed on, either way, and nothing is closed."""
        self.open.clear()

    def go_on(self):
        self.open.set()

    def delay(self, seconds):
        """Each message is passed on so much later."""
        self.pause = seconds

    def close_all(self):
        """Closes all connections of now."""
        with self.lock:
            sessions = list(self.sessions)
        for session in sessions:
            session.end()

    def end(self):
        for listener in self.listeners:
            try:
                listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()
        self.go_on()
        self.close_all()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    # What sessions ask.

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.sessions.add(Session(self, client))

    def connect_upstream(self):
        if isinstance(self.server, tuple):
            return socket.create_connection(self.server)
        link = socket.socket(socket.AF_UNIX)
        link.connect(os.path.join(self.server.folder, f".s.PGSQL.{self.server.port}"))
        return link

    def wait_open(self):
        self.open.wait()
        if self.pause:
            time.sleep(self.pause)

    def new_batch(self):
        with self.lock:
            self.begun += 1
            self.recent.append(Batch(self.begun))
            return self.recent[-1]

    def kept_until_answered(self, batch):
        with self.lock:
            return any(cut.committed and not cut.reached.is_set() and cut.takes(batch) for cut in self.cuts)

    def is_due(self, side, passed, batch, session):
        """Does what a cut asks for here; True when the client's messages go no further."""
        with self.lock:
            for cut in self.cuts:
                if cut.side == side and cut.at == passed and not cut.reached.is_set() and cut.takes(batch):
                    cut.session, session.is_cut = session, True
                    session.close(cut.close)
                    if "server" in cut.close:
                        cut.answered.set()
                    cut.reached.set()
                    return True
        return False

    def answered(self, batch):
        with self.lock:
            for cut in self.cuts:
                if cut.batch is batch:
                    cut.answered.set()
            self.cuts = [cut for cut in self.cuts if cut.batch is not batch or not cut.reached.is_set()]

    def thread_ended(self, session):
        with self.lock:
            session.running -= 1
            self.forget(session)
            for cut in self.cuts:
                if cut.session is session and "server" in session.closed:
                    cut.answered.set()

    def forget(self, session):
        with self.lock:
            if session.is_over():
                self.sessions.discard(session)
                session.client.close()
                if session.server is not None:
                    session.server.close()
