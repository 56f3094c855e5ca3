"""Checking what listens at an address before Ray connects, which would try for minutes."""

from __future__ import annotations

import contextlib
import os
import socket

from sightline.compute.ray_cluster.library import own_token
from sightline.errors import ComputeError, UsageError

_REACH_SECONDS = 5.0
# Ray uses HTTP/2: how a client begins, and the type of the frame with which a server answers.
_SETTINGS = 4
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
# A harmless request to a head node, and one to a client server.
_PROBES = ("/ray.rpc.NodeInfoGcsService/GetClusterId", "/ray.rpc.RayletDriver/ClusterInfo")
CLIENT = "ray://"


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of an address; an IPv6 address stands in brackets.

    >>> host_and_port("ray://head.local:10001"), host_and_port("[::1]:6379")
    (('head.local', 10001), ('::1', 6379))
    """
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    is_valid = bare and not set(bare) & set("[]/@ ") and bracketed == (":" in bare)
    if not is_valid or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(
            f"The address of a Ray cluster must be HOST:PORT or ray://HOST:PORT, with an IPv6 "
            f"address in brackets. Got {address!r}. `--compute ray` alone "
            "starts one on this machine."
        )
    return bare, int(port)


def same_server(a: str, b: str, own_ip: str = "") -> bool:
    """Return whether two addresses are of one server; `own_ip` is this machine's in the network.

    >>> same_server("localhost:6379", "127.0.0.1:6379"), same_server("[::1]:1", "[::1]:2")
    (True, False)
    """
    if a.startswith(CLIENT) != b.startswith(CLIENT):
        return False
    (first, port), (second, other) = host_and_port(a), host_and_port(b)
    return port == other and bool(_ip_addresses(first, own_ip) & _ip_addresses(second, own_ip))


def _ip_addresses(host: str, own_ip: str) -> set[str]:
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return {host}
    is_local = addresses & {"127.0.0.1", "::1", own_ip}
    return addresses | {"127.0.0.1", own_ip} - {""} if is_local else addresses


def reach(address: str) -> None:
    """Raise unless a Ray cluster listens at an address and accepts our token."""
    host, port = host_and_port(address)
    try:
        connection = socket.create_connection((host, port), timeout=_REACH_SECONDS)
    except OSError as e:
        raise ComputeError(
            f"The Ray cluster at {address} cannot be reached ({e.strerror or e}). Is it started "
            "(ray start --head), and is this its address? To do without it: --compute local"
        ) from e
    greeting = b""
    with connection, contextlib.suppress(OSError):
        connection.sendall(_GREETING)
        greeting = connection.recv(9)
    if len(greeting) < 9 or greeting[3] != _SETTINGS:
        raise ComputeError(
            f"The server at {address} is not a Ray cluster. Name the address that `ray start "
            "--head` printed; with ray:// the port of its client server."
        )
    if _is_locked(address):
        raise ComputeError(wants_token(address))


def wants_token(address: str) -> str:
    """Return the message about a cluster that requires its token."""
    if os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        reason = "RAY_AUTH_MODE says to send none"
    else:
        reason = "this machine has another" if own_token() else "this machine has none"
    return (
        f"The Ray cluster at {address} requires its token, but {reason}. Copy its "
        "~/.ray/auth_token to this machine, or set RAY_AUTH_TOKEN to what is in it."
    )


def _is_locked(address: str) -> bool:
    """Return whether the server refuses our token, or that we have none."""
    try:
        import grpc
    except ImportError:
        # Ray can do without grpc; a refusal is then reported by Ray, later.
        return False
    shown = os.environ.get("RAY_AUTH_MODE", "token").lower() == "token" and own_token()
    metadata = (("authorization", f"Bearer {shown}"),) if shown else ()
    with grpc.insecure_channel(address.removeprefix(CLIENT)) as channel:
        ask = channel.unary_unary(_PROBES[address.startswith(CLIENT)])
        try:
            ask(b"", timeout=_REACH_SECONDS, metadata=metadata)
        except grpc.RpcError as e:
            return bool(e.code() is grpc.StatusCode.UNAUTHENTICATED)
    return False
