"""A proxy that speaks CONNECT, and a server with a certificate of its own authority."""

import asyncio
import base64
import ipaddress
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass
class PlayedProxy:
    """Every name leads to this machine: a proxy looks names up itself."""

    port: int = 0
    password: str = ""  # of the user ada; empty: everybody may
    refuses: int = 0  # the status that it answers
    refused: str = ""  # the host of which that is true; empty: of all
    asked: list[str] = field(default_factory=list)  # host:port of each tunnel

    @property
    def wanted(self):
        return "Basic " + base64.b64encode(f"ada:{self.password}".encode()).decode()


async def pump(reader, writer):
    with suppress(OSError):
        while block := await reader.read(65536):
            writer.write(block)
            await writer.drain()
    writer.close()


async def join(proxy, host, port, reader, writer):
    proxy.asked.append(f"{host}:{port}")
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))


@asynccontextmanager
async def connect_proxy(password="", refuses=0):
    proxy = PlayedProxy(password=password, refuses=refuses)

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        host, _, port = head.split()[1].rpartition(":")
        is_refused = proxy.refuses and proxy.refused in ("", host)
        if is_refused or (proxy.password and proxy.wanted not in head):
            writer.write(b"HTTP/1.1 %d No\r\n\r\n" % (proxy.refuses or 407))
            writer.close()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await join(proxy, host, int(port), reader, writer)

    async with listening(serve) as proxy.port:
        yield proxy


@asynccontextmanager
async def listening(serve, security=None):
    """Gives the port."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=security)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@dataclass
class Authority:
    """Of a company: signs the certificate of a host."""

    pem: str
    context: ssl.SSLContext


def make_authority(folder, host):
    authority_key, host_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = certificate("Our own authority", authority_key, None, authority_key)
    signed = certificate(host, host_key, authority, authority_key).public_bytes(Encoding.PEM)
    private = host_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "chain.pem").write_bytes(private + signed)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain.pem")
    return Authority(authority.public_bytes(Encoding.PEM).decode(), context)


def certificate(name, key, issuer, issuer_key):
    """Of an authority, where nobody issued it; else of a host."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    here, day = x509.IPAddress(ipaddress.ip_address("127.0.0.1")), timedelta(days=1)
    built = (
        x509.CertificateBuilder(issuer.subject if issuer else subject, subject, key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - day)
        .not_valid_after(datetime.now(UTC) + day)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer:
        names = x509.SubjectAlternativeName([x509.DNSName(name), here])
        built = built.add_extension(names, critical=False)
    return built.sign(issuer_key, hashes.SHA256())


@asynccontextmanager
async def tls_server(authority):
    """Answers every request with its path, over TLS. Gives its port."""

    async def serve(reader, writer):
        with suppress(OSError, asyncio.IncompleteReadError):
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(path) + path)
            await writer.drain()
        writer.close()

    async with listening(serve, authority.context) as port:
        yield port
