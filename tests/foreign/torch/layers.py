"""Torch's norms, convolutions, poolings, products, attention, and what moves elements, as calls of `Ops`."""

import torch

from device import Skip
from elementwise import argument, number, operation, same_type


def epsilon_of(value, default):
    value = number(default if value is None else value)
    if value < 0:
        raise Skip("an epsilon below 0, which we refuse")
    return value


def many(value, count):
    return [value] * count if isinstance(value, int) else list(value) if len(value) == count else list(value) * count


def batched(x, rank):
    """With a first dimension where torch lets it be left out."""
    return x.unsqueeze(0) if x.dim() == rank - 1 else x


@operation("nn.functional.layer_norm", "nn.functional.rms_norm")
def layer_norm(device, sample, expected):
    x, shape = sample.input, argument(sample, 0, "normalized_shape")
    is_rms = sample.name.endswith("rms_norm")
    weight = argument(sample, 1, "weight")
    bias = None if is_rms else argument(sample, 2, "bias")
    epsilon = argument(sample, 2 if is_rms else 3, "eps")
    epsilon = epsilon_of(epsilon, torch.finfo(x.dtype).eps if is_rms else 1e-5)
    axes = list(range(x.dim() - len(shape), x.dim()))
    call = "rms_norm_along" if is_rms else "layer_norm"
    return device.one(call, {"x": x, "weight": weight, "bias": bias}, expected, axes=axes, epsilon=epsilon)


@operation("nn.functional.group_norm")
def group_norm(device, sample, expected):
    groups, tensors = argument(sample, 0, "num_groups"), {"weight": argument(sample, 1, "weight"),
                                                          "bias": argument(sample, 2, "bias")}
    epsilon = epsilon_of(argument(sample, 3, "eps"), 1e-5)
    return device.one("group_norm", {"x": sample.input, **tensors}, expected, groups=groups, epsilon=epsilon)


@operation("nn.functional.batch_norm", "nn.functional.batch_norm.without_cudnn")
def batch_norm(device, sample, expected):
    if sample.input.dim() < 2:
        raise Skip("a vector without elements, which has no channels")
    mean, variance = argument(sample, 0, "running_mean"), argument(sample, 1, "running_var")
    tensors = {"x": sample.input, "weight": argument(sample, 2, "weight"), "bias": argument(sample, 3, "bias")}
    training, momentum = argument(sample, 4, "training", False), argument(sample, 5, "momentum", 0.1)
    arguments = {"epsilon": epsilon_of(argument(sample, 6, "eps"), 1e-5)}
    f32 = lambda x: device.convert(x, torch.float32)
    if not training:
        tensors |= {"mean": f32(mean), "variance": f32(variance)}
        return device.one("batch_norm", tensors, expected, **arguments)
    results = {"y": (expected.dtype, expected.shape)}
    if mean is not None and not 0 <= momentum <= 1:
        raise Skip("a momentum that is not from 0 to 1, which we refuse")
    if mean is not None:
        results |= {"mean": f32(mean), "variance": f32(variance)}
        arguments["momentum"] = number(momentum)
    return device.call("batch_norm_training", tensors, results, **arguments)["y"]


@operation("nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv_transpose1d", "nn.functional.conv_transpose2d")
def convolution(device, sample, expected):
    rank = int(sample.name[-2])
    is_transposed = "transpose" in sample.name
    x, weight, bias = batched(sample.input, rank + 2), argument(sample, 0, "weight"), argument(sample, 1, "bias")
    stride = many(argument(sample, 2, "stride", 1), rank)
    padding = argument(sample, 3, "padding", 0)
    last = 6 if is_transposed else 4
    dilation = many(argument(sample, last, "dilation", 1), rank)
    groups = argument(sample, 5, "groups", 1)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        padding = [[t // 2, t - t // 2] for t in total]
    else:
        padding = [[p, p] for p in many(0 if padding == "valid" else padding, rank)]
    call = "transposed_convolution" if is_transposed else "convolution"
    y = batched(expected, rank + 2)
    found = device.one(call, {"x": x, "weight": weight, "bias": bias}, y, stride=stride, padding=padding, dilation=dilation,
                       groups=groups)
    return found.reshape(expected.shape)


@operation("nn.functional.max_pool1d", "nn.functional.max_pool2d", "nn.functional.avg_pool1d", "nn.functional.avg_pool2d")
def pool(device, sample, expected):
    rank, is_max = int(sample.name[-2]), "max" in sample.name
    if is_max and argument(sample, 5, "return_indices", False):
        expected = expected[0]
    if not is_max and argument(sample, 5, "divisor_override") is not None:
        raise Skip("a divisor of its own")
    size = many(argument(sample, 0, "kernel_size"), rank)
    stride = argument(sample, 1, "stride")
    stride = size if stride is None or stride == () else many(stride, rank)
    padding = [[p, p] for p in many(argument(sample, 2, "padding", 0), rank)]
    dilation = many(argument(sample, 3, "dilation", 1), rank) if is_max else [1] * rank
    inside = not is_max and not argument(sample, 4, "count_include_pad", True)
    function = "Max" if is_max else "AverageInside" if inside else "Average"
    x, y = batched(sample.input, rank + 2), batched(expected, rank + 2)
    found = device.one("pool", {"x": x}, y, function=function, size=size, stride=stride, padding=padding, dilation=dilation)
    return [(found.reshape(expected.shape), expected)]


@operation("nn.functional.adaptive_avg_pool1d", "nn.functional.adaptive_avg_pool2d", "nn.functional.adaptive_max_pool1d",
           "nn.functional.adaptive_max_pool2d")
def adaptive_pool(device, sample, expected):
    rank, is_max = int(sample.name[-2]), "max" in sample.name
    expected = expected[0] if isinstance(expected, (tuple, list)) else expected
    x, y = batched(sample.input, rank + 2), batched(expected, rank + 2)
    found = device.one("adaptive_pool", {"x": x}, y, function="Max" if is_max else "Average")
    return [(found.reshape(expected.shape), expected)]


@operation("nn.functional.interpolate.nearest", "nn.functional.interpolate.linear", "nn.functional.interpolate.bilinear",
           "nn.functional.upsample_nearest", "nn.functional.upsample_bilinear")
def interpolate(device, sample, expected):
    x = sample.input
    if x.dim() not in (3, 4):
        raise Skip("three spatial dimensions")
    if sample.kwargs.get("antialias"):
        raise Skip("interpolation with a filter")
    mode = sample.name.split(".")[-1]
    corners = sample.kwargs.get("align_corners", "upsample" in mode)
    scale = argument(sample, 1, "scale_factor")
    if scale is not None and not sample.kwargs.get("recompute_scale_factor"):
        factors = many(scale, x.dim() - 2) if isinstance(scale, int) else \
            [scale] * (x.dim() - 2) if isinstance(scale, float) else scale
        if any(out != size * factor for out, size, factor in zip(expected.shape[2:], x.shape[2:], factors)):
            raise Skip("a scale that is not the quotient of the sizes")
    function = "Nearest" if "nearest" in mode else "LinearAlignedCorners" if corners else "Linear"
    return device.one("resample", {"x": x}, expected, function=function)


@operation("cat", "concat", "concatenate")
def concat(device, sample, expected):
    axis = argument(sample, 0, "dim", 0)
    # Torch takes an empty vector beside tensors of any shape.
    parts = [x for x in sample.input if x.shape != (0,) or expected.dim() == 1]
    tensors = {f"x{index}": device.convert(x, expected.dtype) for index, x in enumerate(parts)}
    return device.one("concat", tensors, expected, axis=axis % expected.dim())


@operation("nn.functional.pad.constant", "constant_pad_nd")
def pad(device, sample, expected):
    x, widths = sample.input, list(argument(sample, 0, "pad"))
    if min(widths, default=0) < 0:
        raise Skip("a padding that cuts")
    value = sample.kwargs.get("value", argument(sample, 2 if "functional" in sample.name else 1, "value", 0))
    pairs = [widths[i:i + 2] for i in range(0, len(widths), 2)][::-1]
    padding = [[0, 0]] * (x.dim() - len(pairs)) + pairs
    return device.one("pad", {"x": x}, expected, padding=padding, value=number(0 if value is None else value))


@operation("gather", "index_select")
def gather(device, sample, expected):
    x, (axis, index) = sample.input, sample.args[:2]
    if x.dim() == 0:
        x, index, expected = x.reshape(1), index.reshape(-1), expected.reshape(-1)
    index = index.reshape(-1) if sample.name == "index_select" else index
    if sample.name == "gather" and index.dim() != x.dim():
        raise Skip("an index of other dimensions without elements")
    index = index if index.dtype == torch.int32 else device.convert(index, torch.int64)
    return [(device.one(sample.name, {"x": x, "index": index}, expected, axis=axis % x.dim()), expected)]


@operation("scatter", "scatter_add")
def scatter(device, sample, expected):
    y, (axis, index, source) = sample.input, sample.args[:3]
    if "reduce" in sample.kwargs:
        raise Skip("a reduction")
    if not torch.is_tensor(source):
        source = torch.full(index.shape, source, dtype=y.dtype)
    if y.dim() == 0:
        y, index, source = y.reshape(1), index.reshape(-1), source.reshape(-1)
    elif index.dim() == 0:
        index, source = index.reshape(1), source.reshape(-1)
    # Torch takes the part of the source that the index covers.
    source = source[tuple(slice(size) for size in index.shape)]
    found = device.call(sample.name, {"x": source, "index": index}, {"y": y}, axis=axis % y.dim())["y"]
    return found.reshape(expected.shape)


@operation("nn.functional.embedding")
def embedding(device, sample, expected):
    if sample.kwargs.get("max_norm") is not None:
        raise Skip("rows that the call changes")
    return device.one("embedding", {"x": sample.input, "index": sample.args[0]}, expected)


@operation("nn.functional.one_hot")
def one_hot(device, sample, expected):
    return device.one("one_hot", {"index": sample.input}, expected)


@operation("tril", "triu")
def triangle(device, sample, expected):
    return device.one(sample.name, {"x": sample.input}, expected, diagonal=argument(sample, 0, "diagonal", 0))


@operation("tile", "repeat")
def tile(device, sample, expected):
    times = list(sample.args[0] if sample.args else sample.kwargs.get("dims", sample.kwargs.get("repeats")))
    times = [1] * (expected.dim() - len(times)) + times
    x = sample.input.reshape((1,) * (expected.dim() - sample.input.dim()) + sample.input.shape)
    return device.one("tile", {"x": x}, expected, times=times)


@operation("repeat_interleave")
def repeat(device, sample, expected):
    x, times, axis = sample.input, argument(sample, 0, "repeats"), argument(sample, 1, "dim")
    if not isinstance(times, int):
        raise Skip("different repetitions")
    x, axis = (x.reshape(-1), 0) if axis is None or x.dim() == 0 else (x, axis % x.dim())
    return device.one("repeat", {"x": x}, expected, axis=axis, times=times)


def product(device, a, b, expected, **options):
    """A product with the types that it has: bytes give 32 bits, of which torch keeps 8."""
    tensors = {name: options.pop(name, None) for name in ("c", "bias")}
    if a.dtype == torch.int8:
        tensors = {name: device.convert(x, torch.int32) for name, x in tensors.items() if x is not None}
        result = {"y": (torch.int32, expected.shape)}
        return device.convert(device.call("matmul", {"a": a, "b": b, **tensors}, result, **options)["y"], torch.int8)
    return device.one("matmul", {"a": a, "b": b, **tensors}, expected, **options)


@operation("matmul", "__rmatmul__", "bmm", "mm", "mv")
def matmul(device, sample, expected):
    a, b = sample.input, sample.args[0]
    if sample.name == "__rmatmul__":
        a, b = b, a
    shape = expected.shape
    if b.dim() == 1:
        b, expected = b.unsqueeze(1), expected.unsqueeze(-1)
    if a.dim() == 1:
        a, expected = a.unsqueeze(0), expected.unsqueeze(-2)
    return product(device, a, b, expected).reshape(shape)


@operation("addmm", "addmm.decomposed", "baddbmm")
def sum_of_product(device, sample, expected):
    (a, b), c = sample.args[:2], sample.input
    options = {name: number(sample.kwargs[name]) for name in ("alpha", "beta") if name in sample.kwargs}
    return product(device, a, b, expected, c=c, **options)


@operation("nn.functional.linear")
def linear(device, sample, expected):
    x, weight, bias = sample.input, argument(sample, 0, "weight"), argument(sample, 1, "bias")
    if weight.dim() == 1:
        weight, expected = weight.unsqueeze(0), expected.unsqueeze(-1)
    rows = expected.unsqueeze(0) if x.dim() == 1 else expected
    x = x.unsqueeze(0) if x.dim() == 1 else x
    bias = bias.reshape(-1) if bias is not None else None
    return [(product(device, x, weight.t(), rows, bias=bias), rows)]


@operation("nn.functional.scaled_dot_product_attention")
def attention(device, sample, expected):
    q, k, v = sample.input, *sample.args[:2]
    mask = argument(sample, 2, "attn_mask")
    if argument(sample, 3, "dropout_p", 0.0):
        raise Skip("dropout")
    four = lambda x: x.reshape((1,) * (4 - x.dim()) + x.shape) if x.dim() < 4 else x
    if max(q.dim(), k.dim()) > 4:
        raise Skip("more than four dimensions")
    same_type(q, expected)
    arguments = {"causal": bool(argument(sample, 4, "is_causal", False))}
    if argument(sample, None, "scale") is not None:
        arguments["scale"] = number(sample.kwargs["scale"])
    q, k, v = (x.expand(expected.shape[0], *x.shape[1:]) for x in map(four, (q, k, v))) if expected.dim() == 4 else map(
        four, (q, k, v))
    tensors = {"q": q, "k": k, "v": v, "mask": mask}
    return device.one("scaled_dot_product_attention", tensors, four(expected), **arguments).reshape(expected.shape)
