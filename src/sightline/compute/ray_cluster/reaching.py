"""What listens at an address, asked before the library asks: it itself tries for minutes."""

from __future__ import annotations

import contextlib
import os
import socket

from sightline.compute.ray_cluster.library import own_token
from sightline.errors import ComputeError, UsageError

_REACH_SECONDS = 5.0
# All of Ray speaks HTTP/2: how a client begins, and the kind of frame with which a server answers.
_SETTINGS = 4
_KNOCK = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
# Of a head, and of a server of clients, something harmless to ask.
_ASKED = ("/ray.rpc.NodeInfoGcsService/GetClusterId", "/ray.rpc.RayletDriver/ClusterInfo")
CLIENT = "ray://"


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of an address; an IPv6 address stands in brackets.

    >>> host_and_port("ray://head.local:10001"), host_and_port("[::1]:6379")
    (('head.local', 10001), ('::1', 6379))
    """
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    good = bare and not set(bare) & set("[]/@ ") and bracketed == (":" in bare)
    if not good or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(
            f"A Ray cluster is named HOST:PORT or ray://HOST:PORT, with an IPv6 address in "
            f"brackets. Got {address!r}. `--compute ray` alone starts one on this machine."
        )
    return bare, int(port)


def same_place(a: str, b: str, here: str = "") -> bool:
    """Return whether two addresses are of one server; `here` is this machine's in the network.

    >>> same_place("localhost:6379", "127.0.0.1:6379"), same_place("[::1]:1", "[::1]:2")
    (True, False)
    """
    if a.startswith(CLIENT) != b.startswith(CLIENT):
        return False
    (first, port), (second, other) = host_and_port(a), host_and_port(b)
    return port == other and bool(_numbers(first, here) & _numbers(second, here))


def _numbers(host: str, here: str) -> set[str]:
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError:
        return {host}
    own = addresses & {"127.0.0.1", "::1", here}
    return addresses | {"127.0.0.1", here} - {""} if own else addresses


def reach(address: str) -> None:
    """Refuse an address where nothing listens, something else does, or what wants another token."""
    host, port = host_and_port(address)
    try:
        connection = socket.create_connection((host, port), timeout=_REACH_SECONDS)
    except OSError as e:
        raise ComputeError(
            f"The Ray cluster at {address} cannot be reached ({e.strerror or e}). Is it started "
            "(ray start --head), and is this its address? Without it: --compute local"
        ) from e
    greeting = b""
    with connection, contextlib.suppress(OSError):
        connection.sendall(_KNOCK)
        greeting = connection.recv(9)
    if len(greeting) < 9 or greeting[3] != _SETTINGS:
        raise ComputeError(
            f"What listens at {address} is no Ray cluster. Name the address that `ray start "
            "--head` printed; with ray:// the port of its client server."
        )
    if _is_locked(address):
        raise ComputeError(wants_token(address))


def wants_token(address: str) -> str:
    """Say that a cluster lets nobody in without its token."""
    if os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        had = "RAY_AUTH_MODE says to show none"
    else:
        had = "the one here is another" if own_token() else "there is none here"
    return (
        f"The Ray cluster at {address} wants its token, and {had}. Copy its ~/.ray/auth_token to "
        "this machine, or set RAY_AUTH_TOKEN to what is in it."
    )


def _is_locked(address: str) -> bool:
    """Return whether the server refuses the token we have, or that we have none."""
    try:
        import grpc
    except ImportError:
        # Ray can do without; whoever is refused is then told so by Ray, later.
        return False
    shown = os.environ.get("RAY_AUTH_MODE", "token").lower() == "token" and own_token()
    metadata = (("authorization", f"Bearer {shown}"),) if shown else ()
    with grpc.insecure_channel(address.removeprefix(CLIENT)) as channel:
        ask = channel.unary_unary(_ASKED[address.startswith(CLIENT)])
        try:
            ask(b"", timeout=_REACH_SECONDS, metadata=metadata)
        except grpc.RpcError as e:
            return bool(e.code() is grpc.StatusCode.UNAUTHENTICATED)
    return False
