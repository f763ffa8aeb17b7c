"""A worker on a bare socket: it says what a test has it say, and keeps what it was asked."""
import collections

import msgpack

from harness import Client, RemoteError


class Worker(Client):
    """Registered for `methods`, on a connection of its own; `options` are those of worker.register, `token` says who it is."""

    def __init__(self, server, *methods, url=None, tls=None, token=None, register=True, **options):
        client = server.connect(url, tls)
        super().__init__(client.sock)
        self.asked, self.told = collections.deque(), collections.deque()
        if token:
            self.call("server.auth", token)
        self.registered = self.call("worker.register", list(methods), options) if register else None
        self.id = self.registered["worker"] if register else None

    def _sort(self):
        """Reads one message, and puts it where it belongs.  False: the connection has ended."""
        message = self.receive()
        if message is None:
            return False
        if message[0] == 0:
            self.asked.append(tuple(message[1:]))
        elif message[0] == 2:
            self.told.append(tuple(message[1:]))
        else:
            _, got, error, result = message
            assert got not in self.early, f"a second response to {got}"
            self.early[got] = (error, result)
        return True

    def response(self, msgid):
        while msgid not in self.early:
            if not self._sort():
                raise ConnectionError("the server closed the connection")
        return self.early.pop(msgid)

    def take(self):
        """The next request of the server: its number, the method, the parameters."""
        while not self.asked:
            if not self._sort():
                raise ConnectionError("the server closed the connection")
        return self.asked.popleft()

    def hear(self):
        """The next notification of the server: its method and parameters."""
        while not self.told:
            if not self._sort():
                raise ConnectionError("the server closed the connection")
        return self.told.popleft()

    def respond(self, number, error, result):
        self.send_bytes(msgpack.packb([1, number, error, result], use_bin_type=True, unicode_errors="surrogateescape"))

    def answer(self, number, result=None):
        self.respond(number, None, result)

    def fail(self, number, error):
        self.respond(number, error, None)

    def serve(self, work, count=1):
        """Does so many: work(method, *params) gives the result, or raises a RemoteError with the error."""
        for _ in range(count):
            number, method, params = self.take()
            try:
                self.answer(number, work(method, *params))
            except RemoteError as error:
                self.fail(number, error.value)

    def rows(self):
        """What worker.list says of it."""
        return [r for r in self.call("worker.list")["workers"] if r["worker"] == self.id]
