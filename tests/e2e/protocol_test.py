"""Every example of proto/PROTOCOL.md and proto/vectors.txt is what the server really does.

The notation is stated at the top of vectors.txt.  Each example is one connection.
First a server that answers wrongly has to be caught (TheReplay); then the real one is asked.
"""
import os
import re
import socket
import threading
import unittest

from harness import LIMIT, ServerTest

PROTO = os.path.join(os.path.dirname(__file__), "..", "..", "proto")
EXAMPLES_MIN = {"PROTOCOL.md": 1, "vectors.txt": 110}  # fewer were read: the reading is broken
AT_END = "close"
REQUEST = "94 00 ce "  # of the server; its number follows


class Differs(AssertionError):
    """The server did not do what the example says."""


def body_size(data, first):
    """(bytes of the header, bytes of the body, values inside) of the value that `data` starts with."""

    def number(width):
        return int.from_bytes(data[1:1 + width], "big")

    if first < 0x80 or first >= 0xE0 or first in (0xC0, 0xC2, 0xC3):
        return 1, 0, 0
    if first < 0x90:
        return 1, 0, 2 * (first & 15)
    if first < 0xA0:
        return 1, 0, first & 15
    if first < 0xC0:
        return 1, first & 31, 0
    if 0xCA <= first <= 0xD3:
        return 1, (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)[first - 0xCA], 0
    if 0xD4 <= first <= 0xD8:
        return 1, 1 + (1 << (first - 0xD4)), 0
    if first >= 0xDC:
        width = 2 << (first & 1)
        return 1 + width, 0, number(width) * (2 if first >= 0xDE else 1)
    if first == 0xC1:
        raise Differs("the server sent c1")
    width, type_byte = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0),
                        0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}[first]
    return 1 + width, number(width) + type_byte, 0


def message_length(data):
    """Bytes of the first value of `data`, or None when it is not whole."""
    at, wanted = 0, 1
    while wanted:
        if at >= len(data):
            return None
        header, body, inside = body_size(data[at:at + 5], data[at])
        if at + header > len(data):
            return None
        at += header + body
        wanted += inside - 1
    return at if at <= len(data) else None


def fits(pattern, message):
    """Does a message fit the tokens of an S: line?"""
    if pattern and pattern[-1] == "**":
        pattern, message = pattern[:-1], message[:len(pattern) - 1]
    return len(pattern) == len(message) and all(
        token == ".." or int(token, 16) == byte for token, byte in zip(pattern, message))


class Example:
    """One connection: what is sent and what comes back, in order."""

    def __init__(self, name, text):
        self.name = name
        self.turns = []  # ("C", [hex text...]) and ("S", [hex text...]), alternating
        for line in text.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            side, colon, rest = line.partition(":")
            if side not in ("C", "S") or not colon:
                raise ValueError(f"{name}: neither C: nor S: nor #: {line!r}")
            if not self.turns or self.turns[-1][0] != side:
                self.turns.append((side, []))
            self.turns[-1][1].append(rest.strip())


def examples_of(path):
    """The examples of a file: its ```hex blocks, or its paragraphs."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    file = os.path.basename(path)
    pattern = r"^```hex\n(.*?)^```$" if path.endswith(".md") else r"^((?:.+\n)*C:(?:.+\n)+)"
    for match in re.finditer(pattern, text, re.S | re.M if path.endswith(".md") else re.M):
        yield Example(f"{file}:{text[:match.start(1)].count(chr(10)) + 1}", match.group(1))


class Replay:
    """Plays one example to a socket."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(LIMIT)
        self.data = b""
        self.numbers = {}  # of the server's requests: as the example has them, as they are

    def more(self):
        """Reads on; False at the end of the stream."""
        try:
            got = self.sock.recv(1 << 16)
        except ConnectionResetError:
            got = b""
        except TimeoutError:
            raise Differs(f"the server is silent; of a message it has sent {self.data.hex(' ')!r}") from None
        self.data += got
        return got != b""

    def message(self):
        while (length := message_length(self.data)) is None:
            if not self.more():
                raise Differs(f"the server closed; before that it sent {self.data.hex(' ')!r}")
        message, self.data = self.data[:length], self.data[length:]
        return message

    def with_numbers(self, line):
        for shown, real in self.numbers.items():
            line = f"{line} ".replace(shown, real)
        return line.strip()

    def fits(self, line, message):
        """Does a message fit an S: line?  A request of the server tells its number."""
        if line.startswith(REQUEST) and message[:3] == bytes.fromhex(REQUEST):
            self.numbers[line[len(REQUEST):][:12]] = message[3:7].hex(" ") + " "
        return fits(self.with_numbers(line).split(), message)

    def answers(self, patterns):
        """The messages of S: lines that stand together, in any order."""
        left = list(patterns)
        while left:
            message = self.message()
            fitting = [p for p in left if self.fits(p, message)]
            if not fitting:
                raise Differs(f"answered {message.hex(' ')}\n  instead of {' / '.join(left)}")
            left.remove(fitting[0])

    def end(self):
        """The end of the stream, and nothing before it."""
        while self.more():
            pass
        if self.data:
            raise Differs(f"the server sent more: {self.data.hex(' ')}")

    def play(self, example):
        for side, lines in example.turns:
            if side == "C":
                self.sock.sendall(bytes.fromhex(self.with_numbers(" ".join(lines) + " ")))
            elif lines == [AT_END]:
                self.end()
                return
            else:
                self.answers(lines)
        self.sock.shutdown(socket.SHUT_WR)
        self.end()


class TheReplay(unittest.TestCase):
    """An example that differs is caught: here the server is a script of ours."""

    def play(self, text, answer, then_close=False):
        ours, theirs = socket.socketpair()

        def serve():
            theirs.recv(1 << 16)
            theirs.sendall(bytes.fromhex(answer))
            while not then_close and theirs.recv(1 << 16):
                pass
            theirs.close()

        server = threading.Thread(target=serve)
        server.start()
        try:
            Replay(ours).play(Example("example", text))
        finally:
            ours.close()
            server.join()

    def differs(self, *args, **kwargs):
        with self.assertRaises(Differs):
            self.play(*args, **kwargs)

    def test_what_fits(self):
        self.play("C: 01\nS: 94 01 01 c0 05", "94 01 01 c0 05")
        self.play("C: 01\nS: 94 01 01 c0 ..", "94 01 01 c0 7f")
        self.play("C: 01\nS: 94 01 01 **", "94 01 01 c0 da 00 02 61 62")
        self.play("C: 01\nS: 94 01 01 c0 05\nS: 94 01 02 c0 06", "94 01 02 c0 06 94 01 01 c0 05")
        self.play("C: 01\nS: close", "", then_close=True)

    def test_the_number_of_a_request(self):
        self.play("C: 01\nS: 94 00 ce 41 02 03 04 a1 61 ce 41 02 03 04", "94 00 ce 51 06 07 08 a1 61 ce 51 06 07 08")
        self.differs("C: 01\nS: 94 00 ce 41 02 03 04 a1 61 ce 41 02 03 04", "94 00 ce 51 06 07 08 a1 61 ce 41 02 03 04")

    def test_another_byte(self):
        self.differs("C: 01\nS: 94 01 01 c0 05", "94 01 01 c0 06")

    def test_another_length(self):
        self.differs("C: 01\nS: 94 01 01 c0 ..", "94 01 01 c0 cc 80")

    def test_one_message_too_many(self):
        self.differs("C: 01\nS: 94 01 01 c0 05", "94 01 01 c0 05 94 01 01 c0 05")

    def test_one_message_too_few(self):
        self.differs("C: 01\nS: 94 01 01 c0 05\nS: 94 01 02 c0 05", "94 01 01 c0 05", then_close=True)

    def test_something_before_the_close(self):
        self.differs("C: 01\nS: close", "c0", then_close=True)

    def test_order_matters_across_sends(self):
        self.differs("C: 01\nS: 94 01 01 c0 05\nC: 02\nS: 94 01 02 c0 06", "94 01 02 c0 06")


class Protocol(ServerTest):
    def replay_all(self, file):
        count = 0
        for count, example in enumerate(examples_of(os.path.join(PROTO, file)), 1):
            with self.subTest(example.name), self.server.connect() as client:
                Replay(client.sock).play(example)
        self.assertGreaterEqual(count, EXAMPLES_MIN[file])

    def test_the_document(self):
        self.replay_all("PROTOCOL.md")

    def test_the_vectors(self):
        self.replay_all("vectors.txt")


if __name__ == "__main__":
    unittest.main()
