"""Torch's operations that go element by element or along axes, as calls of `Ops`. Each takes the device, a sample and what torch
makes of it."""

import torch

from device import Skip

OPERATIONS = {}


def operation(*names):
    def add(function):
        for name in names:
            OPERATIONS[name] = function
        return function
    return add


def argument(sample, index, name, default=None):
    """An argument by index (the input is none) or by name."""
    if index is not None and index < len(sample.args):
        return sample.args[index]
    return sample.kwargs.get(name, default)


def same_type(x, expected):
    if x.dtype != expected.dtype:
        raise Skip(f"torch makes {expected.dtype} of {x.dtype}")


def number(value):
    """A number as JSON has it."""
    value = value.item() if torch.is_tensor(value) else value
    value = int(value) if isinstance(value, bool) else value
    if isinstance(value, complex) or value != value or value in (float("inf"), float("-inf")):
        raise Skip("a number that JSON does not have")
    return value


UNARY = {
    "neg": "Neg", "abs": "Abs", "sign": "Sign", "square": "Square", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "reciprocal": "Recip",
    "exp": "Exp", "expm1": "Expm1", "log": "Log", "log1p": "Log1p", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf",
    "sigmoid": "Sigmoid", "nn.functional.relu": "Relu", "nn.functional.leaky_relu": "LeakyRelu", "nn.functional.elu": "Elu",
    "nn.functional.gelu": "Gelu", "nn.functional.silu": "Silu", "nn.functional.softplus": "Softplus",
    "nn.functional.mish": "Mish", "nn.functional.hardswish": "HardSwish", "floor": "Floor", "ceil": "Ceil", "round": "Round",
}


def unary(name, function):
    @operation(name)
    def run(device, sample, expected):
        x, arguments = device.convert(sample.input, expected.dtype), {}
        chosen = function
        if function == "Gelu" and sample.kwargs.get("approximate") == "tanh":
            chosen = "GeluTanh"
        elif function == "LeakyRelu":
            arguments["parameter"] = number(argument(sample, 0, "negative_slope", 0.01))
        elif function == "Elu":
            arguments["parameter"] = number(argument(sample, 0, "alpha", 1.0))
        elif function == "Softplus" and (argument(sample, 0, "beta", 1) != 1 or argument(sample, 1, "threshold", 20) != 20):
            raise Skip("softplus with another beta or threshold")
        elif function == "Round" and (sample.kwargs.get("decimals", 0) or sample.args):
            raise Skip("decimal places")
        found = device.one("unary", {"x": x}, expected, function=chosen, **arguments)
        # The sign of NaN is NaN here, as in NumPy, and 0 in torch.
        return torch.where(x.isnan(), expected, found) if function == "Sign" else found


for name, function in UNARY.items():
    unary(name, function)

BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "minimum": "Min", "maximum": "Max", "pow": "Pow",
    "remainder": "Mod",
}
COMPARISONS = {"eq": "Equal", "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}


def operands(device, sample, dtype):
    """Both operands with one type, and the second as a number if it is one."""
    a, b = sample.input, sample.args[0]
    if not torch.is_tensor(a):
        raise Skip("a number before a tensor")
    # A quotient of integers is a float; comparisons give truth values.
    common = torch.result_type(a, b) if dtype == torch.bool else dtype
    if torch.is_tensor(b):
        return device.convert(a, common), {"b": device.convert(b, common)}, {}
    return device.convert(a, common), {}, {"scalar": number(b)}


def binary(name, call, function):
    @operation(name)
    def run(device, sample, expected):
        a, tensors, numbers = operands(device, sample, expected.dtype)
        if number(sample.kwargs.get("alpha", 1)) != 1:
            raise Skip("a factor of the second operand")
        mode = sample.kwargs.get("rounding_mode")
        if mode and (mode == "floor" or a.dtype.is_floating_point):
            raise Skip(f"a quotient of {a.dtype} with the mode {mode}")
        return device.one(call, {"a": a, **tensors}, expected, function=function, **numbers)


for name, function in BINARY.items():
    binary(name, "binary", function)
for name, function in COMPARISONS.items():
    binary(name, "compare", function)


@operation("where")
def where(device, sample, expected):
    condition, *values = sample.args[0], sample.input, sample.args[1]
    values = (value if torch.is_tensor(value) else torch.tensor(value, dtype=expected.dtype) for value in values)
    a, b = (device.convert(value, expected.dtype) for value in values)
    return device.one("select", {"condition": condition, "a": a, "b": b}, expected)


@operation("float", "half", "bfloat16", "char", "byte", "int", "long", "clone", "contiguous", "to")
def cast(device, sample, expected):
    x = sample.input
    found = device.one("convert", {"x": x}, expected)
    if x.dtype.is_floating_point and not expected.dtype.is_floating_point:
        # What does not fit is whatever the processor makes of it in torch.
        limits = torch.iinfo(expected.dtype)
        fits = (x.double() > limits.min - 1) & (x.double() < limits.max + 1) if limits.bits < 64 else x.abs() < 2**62
        found = torch.where(fits, found, expected)
    return found


@operation("fill", "full_like")
def fill(device, sample, expected):
    return device.one("fill", {}, expected, value=number(argument(sample, 0, "value", 0)))


def axes_of(dim, rank):
    """The axes that torch's `dim` names: all for none."""
    if dim is None or dim == () or dim == []:
        return list(range(rank))
    dims = [dim] if isinstance(dim, int) else dim
    return [axis % rank for axis in dims] if rank else []


REDUCTIONS = {
    "sum": "Sum", "mean": "Mean", "prod": "Prod", "amin": "Min", "amax": "Max", "var": "Var", "var.unbiased": "Var",
    "logsumexp": "LogSumExp",
}


def reduction(name, function):
    @operation(name)
    def run(device, sample, expected):
        x, arguments = device.convert(sample.input, expected.dtype), {}
        dim = argument(sample, 0, "dim")
        if function == "Var":
            unbiased = argument(sample, None, "unbiased", True)
            if isinstance(dim, bool):
                unbiased, dim = dim, None
            correction = sample.kwargs.get("correction", 1 if unbiased else 0)
            correction = 1 if correction is None else correction
            if correction != int(correction) or correction < 0:
                raise Skip("a correction that is not a whole number")
            arguments["correction"] = int(correction)
        axes = axes_of(dim, x.dim())
        if function in ("Min", "Max") and x.numel() == 0 and expected.numel() == 0:
            raise Skip("the extreme of no elements, of which there are none")
        return device.one("reduce", {"x": x}, expected, function=function, axes=axes, **arguments)


for name, function in REDUCTIONS.items():
    reduction(name, function)


@operation("argmin", "argmax")
def arg_reduce(device, sample, expected):
    x, dim = sample.input, argument(sample, 0, "dim")
    if x.dim() == 0 or dim is None:
        x, dim = x.reshape(-1), 0
        expected = expected.reshape(())
    function = "Min" if sample.name == "argmin" else "Max"
    result = {"y": (torch.uint32, expected.shape)}
    return device.call("arg_reduce", {"x": x}, result, function=function, axis=dim % x.dim())["y"].long()


@operation("cumsum", "cumprod", "softmax", "log_softmax")
def along(device, sample, expected):
    x = device.convert(sample.input, expected.dtype)
    x = x.reshape(1) if x.dim() == 0 else x
    axis = argument(sample, 0, "dim") % x.dim()
    call = sample.name
    return device.one(call, {"x": x}, expected.reshape(x.shape), axis=axis).reshape(expected.shape)


@operation("sort", "argsort", "topk", "msort")
def sort(device, sample, expected):
    x = sample.input
    x = x.reshape(1) if x.dim() == 0 else x
    shape = x.shape
    if sample.name == "topk":
        k = argument(sample, 0, "k")
        axis = argument(sample, 1, "dim", -1) % x.dim()
        descending = argument(sample, 2, "largest", True)
        shape = shape[:axis] + (k,) + shape[axis + 1:]
    elif sample.name == "msort":
        axis, descending = 0, False
    else:
        axis = argument(sample, 0, "dim", -1) % x.dim()
        descending = argument(sample, 1, "descending", False)
    results = {"y": (x.dtype, shape), "indices": (torch.uint32, shape)}
    call = {"topk": "top_k", "argsort": "argsort"}.get(sample.name, "sort")
    if call == "argsort":
        results.pop("y")
    found = device.call(call, {"x": x}, results, axis=axis, descending=bool(descending))
    indices = found["indices"].long()
    # Equal elements may come in any order unless it is to be stable: their values are compared then.
    own = x.gather(axis, indices) if x.numel() else x.reshape(shape)
    if sample.name == "argsort":
        if sample.kwargs.get("stable"):
            return indices.reshape(expected.shape)
        theirs = x.gather(axis, expected.reshape(shape)) if x.numel() else own
        return [(own, theirs)]
    values, theirs = (expected, None) if sample.name == "msort" else expected
    if sample.name == "topk" and not argument(sample, 3, "sorted", True):
        values = values.reshape(shape).sort(axis, descending=descending).values
    pairs = [(found["y"], values.reshape(shape)), (own, values.reshape(shape))]
    if sample.kwargs.get("stable"):
        pairs.append((indices, theirs.reshape(shape)))
    return pairs
