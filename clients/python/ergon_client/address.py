"""A server's address, the credentials for it, and the reason why a connection to it failed."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from urllib.parse import unquote, urlsplit

READ = 1 << 18  # bytes taken from the socket at a time
PORTS = {"ergon": 7466, "ergons": 7467}


class Address:
    """A URL, and what is needed to trust and to be trusted there."""

    def __init__(self, url: str, token: str | None = None, ca: str | None = None, cert: str | None = None,
                 key: str | None = None, server_name: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme == "unix" and parts.path and not parts.netloc:
            self.path: str | None = unquote(parts.path)
        elif parts.scheme in PORTS and parts.hostname:
            self.path = None
            self.host = parts.hostname
            self.port = parts.port or PORTS[parts.scheme]
        else:
            raise ValueError(f"{url!r} is neither ergon://host[:port] nor ergons://host[:port] nor unix:///path")
        self.url = url
        self.token = token
        self.tls: ssl.SSLContext | None = None
        if parts.scheme == "ergons":
            self.tls = tls_context(ca, cert, key)
            self.server_name = server_name or self.host

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Streams to the server; OSError says why not."""
        if self.path is not None:
            return await asyncio.open_unix_connection(self.path, limit=READ)
        name = self.server_name if self.tls else None
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=READ, ssl=self.tls, server_hostname=name)
        keep_alive(writer.get_extra_info("socket"))
        return reader, writer


def tls_context(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    """TLS 1.2 or later; the server's name must stand among the subjectAltNames, and a common name is none."""
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    if cert is not None:
        context.load_cert_chain(cert, key)
    return context


def keep_alive(sock: socket.socket) -> None:
    """A server whose machine has gone without a word is noticed after a minute, also where nobody sends."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def reason_of(error: BaseException) -> str:
    """Why there is no connection, for people."""
    text = str(error) or type(error).__name__
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in text:
        return "connection refused"
    if not isinstance(error, OSError) or isinstance(error, (ssl.SSLError, socket.gaierror)) or not error.errno:
        return text
    return os.strerror(error.errno)
