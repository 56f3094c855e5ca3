"""A network's outputs for one picture, from which all deep features are made.

Several features of a picture, or one feature at several sizes, need the same outputs, so the last
few are cached. They depend on nothing but the arguments.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.features.deep import session
from sightline.features.deep.framing import FRAMINGS, check_picture, framed
from sightline.features.deep.graph import GRAPH_VERSION
from sightline.features.deep.network import Network
from sightline.vectors import l2_normalize

SMALLEST, LARGEST = 32, 1024
_CACHED = 4  # Sizes or networks, with mirror images; a few megabytes.
_Key = tuple[Network, int, str, bool]


@dataclass(frozen=True, slots=True)
class NetworkOutputs:
    """The network's outputs for one picture; none of the arrays can be changed.

    Attributes
    ----------
    vector : ndarray of shape (1280,)
        Output of the last layer, averaged over the picture.
    stages, peaks : ndarray of float32
        Mean and largest outputs of the stages: 3360 numbers, or as many as `Network.outputs` says.
    map : ndarray of shape (rows, columns, 1280)
        Output of the last layer by position.
    """

    vector: NDArray[np.float32]
    stages: NDArray[np.float32]
    peaks: NDArray[np.float32]
    map: NDArray[np.float32]


_recent: deque[tuple[_Key, NDArray[np.uint8], list[NetworkOutputs]]] = deque(maxlen=_CACHED)


def outputs_of(
    network: Network, rgb: NDArray[np.uint8], size: int, framing: str, flips: bool
) -> list[NetworkOutputs]:
    """Return the outputs for a picture, and those for its mirror image if `flips`."""
    check_picture(rgb)
    key = (network, size, framing, flips)
    # A copy: another thread may add to it.
    for known, picture, recent_outputs in tuple(_recent):
        # To compare is ten times as fast as to hash.
        if known == key and np.array_equal(picture, rgb):
            return recent_outputs
    pictures = [rgb, rgb[:, ::-1]] if flips else [rgb]
    outputs = [_outputs(network, framed(p, size, framing)) for p in pictures]
    _recent.append((key, rgb.copy(), outputs))
    return outputs


def _outputs(network: Network, picture: NDArray[np.uint8]) -> NetworkOutputs:
    outputs = session.run(network, picture[None], "vector", "stages", "peaks", "map")
    vector, stages, peaks, last = (output[0] for output in outputs)
    network_outputs = NetworkOutputs(vector, stages, peaks, last.transpose(1, 2, 0))
    for array in (
        network_outputs.vector,
        network_outputs.stages,
        network_outputs.peaks,
        network_outputs.map,
    ):
        array.flags.writeable = False
    return network_outputs


def check_sizes(owner: str, sizes: tuple[int, ...], framing: str) -> None:
    """Check sizes and framing; raise for unknown ones."""
    if not sizes or any(type(s) is not int or not SMALLEST <= s <= LARGEST for s in sizes):
        bounds = f"whole numbers from {SMALLEST} to {LARGEST}"
        raise ParameterError.of("sizes", owner, bounds, sizes)
    if framing not in FRAMINGS:
        raise ParameterError.of("framing", owner, f"one of {', '.join(FRAMINGS)}", framing)


def identity(network: Network) -> dict[str, Json]:
    """Return what every deep feature puts into its parameters: which network it is."""
    return {"weights": network.sha256, "graph": GRAPH_VERSION}


def unit_vector(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """L2-normalise one vector; its squares are added by BLAS."""
    return np.asarray(l2_normalize(vector, np.linalg.norm(vector)))
