"""A server on a socket that does what a test says, for clients that serve or hold something; and who is left of a command."""
import os
import queue
import socket
import threading

import msgpack

from harness import LIMIT, eventually


class Peer:
    """One connection of a client; messages are read by a thread of its own, which hands requests to `asked`."""

    def __init__(self, sock):
        self.sock = sock
        self.answers = {}
        self.told = queue.Queue()  # notifications
        self.heard = threading.Condition()
        self.ended = False
        self.next_id = 0
        threading.Thread(target=self.read, daemon=True).start()

    def asked(self, msgid, method, params):
        """What becomes of a request of the client."""
        raise NotImplementedError

    def send(self, *message):
        self.sock.sendall(msgpack.packb(message, use_bin_type=True))

    def reply(self, msgid, result):
        self.send(1, msgid, None, result)

    def refuse(self, msgid, error):
        self.send(1, msgid, error, None)

    def read(self):
        unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=1 << 30)
        try:
            while data := self.sock.recv(1 << 16):
                unpacker.feed(data)
                for message in unpacker:
                    self.take(message)
        except OSError:
            pass
        with self.heard:
            self.ended = True
            self.heard.notify_all()

    def take(self, message):
        if message[0] == 1:
            with self.heard:
                self.answers[message[1]] = message[2:]
                self.heard.notify_all()
        elif message[0] == 2:
            self.told.put((message[1], message[2]))
        else:
            self.asked(*message[1:])

    def ask(self, method, *params):
        """Sends a request; its id."""
        self.next_id += 1
        self.send(0, self.next_id, method, list(params))
        return self.next_id

    def answer(self, msgid):
        """(error, result)"""
        with self.heard:
            if not self.heard.wait_for(lambda: msgid in self.answers or self.ended, LIMIT):
                raise AssertionError("no answer")
            return tuple(self.answers[msgid])

    def at_end(self):
        with self.heard:
            return self.heard.wait_for(lambda: self.ended, LIMIT)

    def hang_up(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Scripted:
    """Accepts clients; `make` makes a Peer of a socket."""

    def __init__(self, make):
        self.make = make
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LIMIT)
        self.url = f"ergon://127.0.0.1:{self.listener.getsockname()[1]}"

    def peer(self):
        sock, _ = self.listener.accept()
        sock.settimeout(None)
        return self.make(sock)


class Family:
    """Who is left of a command: each of its processes, whatever group it is in, inherits a pipe that `joins`, put before its
    script, has opened."""

    def __init__(self, place):
        path = os.path.join(place, f"family-{os.urandom(4).hex()}")
        os.mkfifo(path)
        self.joins = f"exec 9>{path}; "
        self.pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def is_gone(self):
        """Of one that is known to have started."""
        try:
            return os.read(self.pipe, 1) == b""
        except BlockingIOError:
            return False

    def gone(self):
        """Waits until nobody is left."""
        eventually(self.is_gone, "everybody of the family has gone")


def children(pid):
    """The processes whose parent this one is, zombies included."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(entry))
        except (OSError, ValueError, IndexError):
            continue
    return found
