"""A network as an ONNX graph.

Input: `pixels`, uint8, (pictures, height, width, 3). Outputs, each of which can be computed alone;
`Network.outputs` has their lengths:

vector
    (pictures, 1280), the mean of the last map.
logits
    (pictures, 1000), scores of the ImageNet classes it was trained on.
map
    (pictures, 1280, height/32, width/32), the last map.
fine_map
    (pictures, ..., height/16, width/16), the widest map before the last halving.
stages
    (pictures, ...), the means of the widest map of six blocks, the earliest first: colours and
    textures rather than things. `Network.parts` has their slices.
peaks
    (pictures, ...), the maxima of the same maps.

Batch norm is folded into the convolutions. Pictures are padded as TensorFlow does, where the
weights come from: what is missing for a stride is added below and to the right first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sightline.features.deep.network import Network
    from sightline.features.deep.weights import Weights

GRAPH_VERSION = 1
EPSILON = 1e-3
MEAN, SCALE = 127.0, 128.0
_OPSET, _IR = 13, 8  # Old enough for every onnxruntime the extra allows.


def build_model(network: Network, weights: Weights) -> bytes:
    """Return the network as the bytes of an ONNX file; equal weights give equal bytes."""
    from onnx import TensorProto, helper

    graph = _Graph(network, weights)
    graph.wire()
    sides = {"map": ["rows", "columns"], "fine_map": ["fine_rows", "fine_columns"]}
    outputs = []
    for name, length in network.outputs.items():
        shape: list[str | int | None] = ["pictures", length, *sides.get(name, [])]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    shape = ["pictures", "height", "width", 3]
    inputs = [helper.make_tensor_value_info("pixels", TensorProto.UINT8, shape)]
    onnx_graph = helper.make_graph(graph.nodes, network.name, inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(onnx_graph, opset_imports=opsets, producer_name="sightline")
    model.ir_version = _IR
    return bytes(model.SerializeToString(deterministic=True))


def folded(
    weights: Weights, conv: str, norm: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return kernel and bias of a convolution that also does the batch norm after it."""
    kernel = weights[f"{conv}.weight"].astype(np.float64)
    scale = weights[f"{norm}.weight"] / np.sqrt(weights[f"{norm}.running_var"] + EPSILON)
    bias = weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale
    return (kernel * scale[:, None, None, None]).astype(np.float32), bias.astype(np.float32)


class _Graph:
    """Nodes and constants, put together from the input to the outputs."""

    def __init__(self, network: Network, weights: Weights) -> None:
        self.network = network
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def wire(self) -> None:
        """Add every node."""
        self._constant("zero", np.array(0, np.float32))
        self._constant("six", np.array(6, np.float32))
        x = self._prepared("pixels")
        x = self._conv(x, "_conv_stem", "_bn0", stride=2)
        for i in range(self.network.blocks):
            x = self._block(x, i)
        self._node("Concat", [f"stage{i}" for i in self.network.parts], "stages", axis=1)
        self._node("Concat", [f"peak{i}" for i in self.network.parts], "peaks", axis=1)
        last = self._conv(x, "_conv_head", "_bn1", out="map")
        vector = self._pooled("GlobalAveragePool", last, "vector")
        matrix = self._constant("_fc.weight", self.weights["_fc.weight"])
        bias = self._constant("_fc.bias", self.weights["_fc.bias"])
        self._node("Gemm", [vector, matrix, bias], "logits", transB=1)

    def _prepared(self, x: str) -> str:
        """Turn pixels into what the network was trained on; padding comes after, as zeros."""
        from onnx import TensorProto

        x = self._node("Cast", [x], "real", to=TensorProto.FLOAT)
        mean = self._constant("pixel_mean", np.array(MEAN, np.float32))
        scale = self._constant("pixel_scale", np.array(SCALE, np.float32))
        x = self._node("Sub", [x, mean], "centred")
        x = self._node("Div", [x, scale], "scaled")
        return self._node("Transpose", [x], "channels_first", perm=[0, 3, 1, 2])

    def _block(self, x: str, i: int) -> str:
        """Add an inverted residual block: widen, filter each channel, narrow."""
        name, stride = f"_blocks.{i}", 2 if i in self.network.halving else 1
        inner = x
        if f"{name}._expand_conv.weight" in self.weights:
            out = "fine_map" if i == self.network.fine_block else None
            inner = self._conv(inner, f"{name}._expand_conv", f"{name}._bn0", out=out)
        wide = inner
        inner = self._conv(inner, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride)
        if i in self.network.parts:
            shown = inner if i == self.network.filtered_block else wide
            self._pooled("GlobalAveragePool", shown, f"stage{i}")
            self._pooled("GlobalMaxPool", shown, f"peak{i}")
        project = f"{name}._project_conv"
        inner = self._conv(inner, project, f"{name}._bn2", bounded=False)
        before = self.weights[f"{name}._expand_conv.weight"].shape[1] if i else None
        if stride == 1 and before == self.weights[f"{project}.weight"].shape[0]:
            return self._node("Add", [inner, x], f"{name}.sum")
        return inner

    def _conv(
        self,
        x: str,
        conv: str,
        norm: str,
        stride: int = 1,
        bounded: bool = True,
        out: str | None = None,
    ) -> str:
        """Add a convolution with its batch norm, and ReLU6 if `bounded`."""
        kernel, bias = folded(self.weights, conv, norm)
        depthwise = conv.endswith("_depthwise_conv")
        names = [self._constant(f"{conv}.kernel", kernel), self._constant(f"{conv}.bias", bias)]
        y = self._node(
            "Conv",
            [x, *names],
            f"{conv}.out",
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            group=len(kernel) if depthwise else 1,
            auto_pad="SAME_UPPER",
        )
        return self._node("Clip", [y, "zero", "six"], out or f"{conv}.relu6") if bounded else y

    def _pooled(self, how: str, x: str, out: str) -> str:
        pooled = self._node(how, [x], f"{out}.pooled")
        return self._node("Flatten", [pooled], out, axis=1)

    def _node(self, kind: str, inputs: list[str], out: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [out], name=out, **attributes))
        return out

    def _constant(self, name: str, value: NDArray[np.float32]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(value, name))
        return name
