"""Programs in tinygrad's tensors, each on its Metal device and on its CPU device, which compiles C: the results have to agree.

Usage: agree.py [PART OF A NAME]..."""
import itertools
import os
import sys

import numpy as np

os.environ.setdefault("DEV", "METAL")
from tinygrad import Context, Device, Tensor, TinyJit, Variable, dtypes, nn  # noqa: E402

FLOATS = (dtypes.float32, dtypes.float16, dtypes.bfloat16)
SIGNED = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
UNSIGNED = (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
TYPES = (*FLOATS, *SIGNED, *UNSIGNED)

# Relative to the largest number of a result, of some roundings.
TOLERANCE = {dtypes.float32: 2e-5, dtypes.float16: 4e-3, dtypes.bfloat16: 3e-2}

CASES = {}


def case(name, program, shapes, types=(dtypes.float32,), low=-3.0, high=3.0):
    for dtype in types:
        CASES[f"{name} {dtype.name} {' '.join('x'.join(map(str, shape)) for shape in shapes)}"] = (program, shapes, dtype, low, high)


def inputs(shapes, dtype, low, high, device):
    rng = np.random.default_rng(7)
    for shape in shapes:
        values = rng.uniform(low, high, shape)
        if dtypes.is_float(dtype):
            yield Tensor(values.astype(np.float32), device=device).cast(dtype).realize()
        else:
            low_int = 0 if dtypes.is_unsigned(dtype) else int(low * 10)
            yield Tensor(rng.integers(low_int, int(high * 10), shape), device=device).cast(dtype).realize()


def evaluate(program, shapes, dtype, low, high, device):
    Tensor.manual_seed(11)
    results = program(*inputs(shapes, dtype, low, high, device))
    for result in results if isinstance(results, tuple) else (results,):
        yield result.dtype, result.cast(dtypes.float32 if result.dtype == dtypes.bfloat16 else result.dtype).numpy()


def elementwise():
    wide = [(61, 48)]
    for name in ("neg", "relu", "abs", "sign", "square", "exp", "exp2", "sin", "cos", "tanh", "sigmoid", "gelu", "silu", "elu", "celu",
                 "selu", "softplus", "mish", "hardtanh", "hardswish", "hardsigmoid", "leaky_relu", "quick_gelu", "softsign", "erf", "floor",
                 "ceil", "round", "trunc", "sinh", "cosh", "atan", "isnan", "isinf", "logsigmoid", "relu6", "swish"):
        case(name, lambda a, name=name: getattr(a, name)(), wide, FLOATS)
    for name in ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "acosh"):
        case(name, lambda a, name=name: getattr(a, name)(), wide, FLOATS, 1.1, 9.0)
    case("asinh", lambda a: a.asinh(), wide, FLOATS, 0.0, 3.0)  # below 0 tinygrad's formula cancels
    for name in ("asin", "acos", "atanh", "tan"):
        case(name, lambda a, name=name: getattr(a, name)(), wide, FLOATS, -0.9, 0.9)
    pairs = [(33, 20), (33, 20)]
    for name in ("add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "gt", "le", "ge"):
        operator = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "gt": "__gt__", "le": "__le__", "ge": "__ge__"}.get(name, name)
        call = lambda a, b, operator=operator: getattr(a, operator)(b)  # noqa: E731
        case(name, call, pairs, TYPES)
        for shapes in ([(33, 20), (1, 20)], [(4, 1, 6), (5, 1)]):
            case(name, call, shapes)
    case("div", lambda a, b: a / (b.abs() + 1), pairs, TYPES)
    case("idiv", lambda a, b: a // (b * b + 1), pairs, (*SIGNED, *UNSIGNED))
    case("mod", lambda a, b: a % (b * b + 1), pairs, (*SIGNED, *UNSIGNED))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        case(name, lambda a, b, name=name: getattr(a, name)(b), pairs, (*SIGNED, *UNSIGNED))
    case("shift", lambda a: (a << 3, a >> 1), wide, UNSIGNED)
    case("not", lambda a: a.bitwise_not(), wide, (*SIGNED, *UNSIGNED))
    case("pow", lambda a, b: a.pow(b), pairs, FLOATS, 0.2, 3.0)
    case("where", lambda a, b: (a > b).where(a, b * 2), pairs, TYPES)
    case("clamp", lambda a: a.clip(-1, 2), wide, TYPES)
    case("lerp", lambda a, b: a.lerp(b, 0.3), pairs, FLOATS)
    for source in (*TYPES, dtypes.bool):
        case("casts", lambda a: tuple(a.cast(target) for target in (*TYPES, dtypes.bool)), [(9, 31)], (source,), 0.0, 3.0)
    for target in (dtypes.int32, dtypes.uint32, dtypes.float32):
        case(f"bits as {target.name}", lambda a, target=target: a.bitcast(target).bitcast(dtypes.uint32), wide, (dtypes.float32, dtypes.int32))


def reductions():
    shapes = ([(256,)], [(17, 300)], [(8, 33, 19)], [(4096,)], [(64, 1024)])
    for name, shape in itertools.product(("sum", "max", "min", "mean", "argmax", "argmin"), shapes):
        for axis in (None, 0, -1):
            call = lambda a, name=name, axis=axis: getattr(a, name)() if axis is None else getattr(a, name)(axis=axis)  # noqa: E731
            case(f"{name} over {axis}", call, shape, TYPES if shape == shapes[1] and axis == -1 else (dtypes.float32,))
    for name in ("prod", "var", "std", "logsumexp", "any", "all"):
        case(name, lambda a, name=name: getattr(a, name)(axis=-1), [(6, 40)], (dtypes.float32,), 0.5, 1.5)
    for name in ("softmax", "log_softmax", "cumsum", "cummax", "cumprod", "logcumsumexp", "layernorm"):
        for shape in ([(5, 37)], [(3, 700)], [(1025,)]):
            case(name, lambda a, name=name: getattr(a, name)(-1) if name != "layernorm" else a.layernorm(), shape, (dtypes.float32,), -1.0, 1.0)
    case("cumsum", lambda a: a.cumsum(0), [(600, 3)], (dtypes.int32, dtypes.float16), -1.0, 1.0)
    for shape in ([(64,)], [(5, 33)], [(300,)]):
        case("sort", lambda a: a.sort()[0], shape, (dtypes.float32, dtypes.int32, dtypes.uint8))
        case("sort down", lambda a: a.sort(descending=True), shape, (dtypes.float32,))
        case("topk", lambda a: a.topk(5), shape, (dtypes.float32,))


def products():
    for rows, inner, columns in ((1, 64, 64), (64, 64, 1), (8, 8, 8), (32, 32, 32), (64, 64, 64), (128, 256, 96), (33, 17, 29), (100, 300, 7), (256, 256, 256)):
        case("matmul", lambda a, b: a @ b, [(rows, inner), (inner, columns)], (*FLOATS, dtypes.int32), -1.0, 1.0)
    case("matmul in float32", lambda a, b: a.matmul(b, dtype=dtypes.float32), [(64, 128), (128, 64)], (dtypes.float16, dtypes.bfloat16), -1.0, 1.0)
    case("batched", lambda a, b: a @ b, [(3, 2, 40, 24), (2, 24, 56)], FLOATS, -1.0, 1.0)
    case("transposed", lambda a, b: a.T @ b.T, [(64, 96), (32, 64)], FLOATS, -1.0, 1.0)
    case("einsum", lambda a, b: Tensor.einsum("bij,bkj->bik", a, b), [(4, 20, 32), (4, 24, 32)], FLOATS, -1.0, 1.0)
    case("dot", lambda a, b: a.dot(b), [(1000,), (1000,)], FLOATS, -1.0, 1.0)
    for options in ({}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}, {"padding": (1, 2), "stride": (2, 1)}):
        weight = (8, 4 // options.get("groups", 1), 3, 3)
        case(f"conv2d {options}", lambda a, w, options=options: a.conv2d(w, **options), [(2, 4, 16, 13), weight], FLOATS, -1.0, 1.0)
        case(f"conv2d {options} with gradients", lambda a, w, options=options: gradients(a.conv2d(w, **options), a, w), [(1, 4, 9, 8), weight], low=-1.0, high=1.0)
    case("conv1d", lambda a, w: a.conv2d(w), [(2, 3, 60), (5, 3, 7)], FLOATS, -1.0, 1.0)
    case("conv3d", lambda a, w: a.conv2d(w), [(1, 2, 6, 7, 8), (3, 2, 2, 3, 3)], low=-1.0, high=1.0)
    case("conv_transpose2d", lambda a, w: a.conv_transpose2d(w, stride=2, padding=1), [(2, 4, 7, 6), (4, 3, 3, 3)], low=-1.0, high=1.0)
    case("winograd", lambda a, w: winograd(a, w), [(1, 4, 12, 12), (4, 4, 3, 3)], low=-1.0, high=1.0)
    case("max_pool2d", lambda a: a.max_pool2d((3, 3), stride=2), [(2, 3, 14, 15)], FLOATS)
    case("avg_pool2d", lambda a: a.avg_pool2d((2, 2), padding=1), [(2, 3, 14, 14)], FLOATS)
    case("attention", lambda q, k, v: q.scaled_dot_product_attention(k, v), [(2, 4, 33, 16)] * 3, FLOATS, -1.0, 1.0)
    case("causal attention", lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True), [(2, 4, 32, 32)] * 3, FLOATS, -1.0, 1.0)


def gradients(result, *variables):
    return tuple(result.square().sum().gradient(*variables))


def winograd(a, weight):
    with Context(WINO=1):
        return a.conv2d(weight, padding=1).realize()


def movement():
    case("transpose", lambda a: a.transpose().contiguous(), [(37, 21)], TYPES)
    case("permute", lambda a: a.permute(2, 0, 1).contiguous(), [(5, 6, 7)], TYPES)
    case("pad", lambda a: a.pad(((1, 2), (3, 0)), value=5), [(9, 8)], TYPES)
    case("flip", lambda a: a.flip(0, 1).contiguous(), [(9, 8)], TYPES)
    case("slice", lambda a: a[1:-1:2, ::3].contiguous(), [(20, 19)], TYPES)
    case("expand", lambda a: a.reshape(9, 1, 8).expand(9, 4, 8).contiguous(), [(9, 8)], TYPES)
    case("cat", lambda a, b: a.cat(b, a, dim=1), [(5, 6), (5, 9)], TYPES)
    case("stack", lambda a, b: Tensor.stack(a, b, dim=1), [(5, 6), (5, 6)], TYPES)
    case("roll", lambda a: a.roll(3, 0), [(9, 8)], TYPES)
    case("repeat", lambda a: a.repeat((2, 3)), [(5, 6)], TYPES)
    case("tril", lambda a: a.tril(1) + a.triu(2) * 2, [(9, 12)], TYPES)
    case("gather", lambda a: a.gather(1, index(a, (9, 5), 8)), [(9, 8)], TYPES)
    case("scatter", lambda a: a.scatter(1, index(a, (9, 1), 8), 3), [(9, 8)], TYPES)
    case("scatter_reduce", lambda a, b: a.scatter_reduce(0, index(a, (4, 8), 9), b, "sum"), [(9, 8), (4, 8)])
    case("indexed", lambda a: a[index(a, (12,), 9)], [(9, 8)], TYPES)
    case("one_hot", lambda a: index(a, (12,), 9).one_hot(9), [(1,)])
    case("masked", lambda a: a.masked_fill(a > 1, -1), [(9, 8)], TYPES)
    case("interpolate", lambda a: a.interpolate((9, 13), mode="linear"), [(1, 2, 5, 6)])
    case("assign", assigned, [(16, 16)], TYPES)


def index(a, shape, bound):
    return Tensor(np.random.default_rng(3).integers(0, bound, shape), device=a.device).cast(dtypes.int32)


def assigned(a):
    b = a.contiguous().realize()
    b[3:5, ::2] = 1
    b.assign(b + a).realize()
    return b


def made():
    # These have the device of what they are added to.
    case("arange", lambda a: a + Tensor.arange(3, 777, 5), [(1,)])
    case("linspace", lambda a: a + Tensor.linspace(-1, 4, 77), [(1,)])
    case("eye", lambda a: a + Tensor.eye(13, 9), [(1,)])
    for name, options in (("rand", {}), ("randn", {}), ("uniform", {"low": -2.0, "high": 3.0}), ("normal", {"mean": 1.0}), ("kaiming_uniform", {})):
        case(name, lambda a, name=name, options=options: getattr(Tensor, name)(60, 70, device=a.device, **options), [(1,)])
    case("randint", lambda a: Tensor.randint(500, low=-5, high=90, device=a.device), [(1,)])
    case("dropout", dropout, [(30, 40)])
    case("batchnorm", lambda a, g: a.batchnorm(g, g, a.mean((0, 2, 3)), a.var((0, 2, 3)).add(1e-5).rsqrt()), [(4, 6, 5, 5), (6,)])
    case("cross entropy", lambda a: a.sparse_categorical_crossentropy(index(a, (20,), 10)), [(20, 10)])
    case("gradients", lambda a, b: gradients((a @ b).tanh().softmax(), a, b), [(20, 30), (30, 16)], low=-1.0, high=1.0)
    case("jit", jitted, [(40, 40), (40, 40)], low=-1.0, high=1.0)
    case("symbolic", symbolic, [(10, 12)])
    for name, keywords in (("SGD", {"momentum": 0.9}), ("Adam", {}), ("LAMB", {})):
        case(name, lambda a, w, name=name, keywords=keywords: trained(a, w, getattr(nn.optim, name), keywords), [(16, 12), (12, 5)], low=-1.0, high=1.0)


def dropout(a):
    with Context(TRAINING=1):
        return a.dropout(0.4)


def jitted(a, b):
    @TinyJit
    def step(x, y):
        return ((x @ y).relu() + x).sum(axis=0).realize(), (x * y).max(axis=1).realize()
    for iteration in range(4):
        results = step((a + iteration).realize(), b)
    return tuple(result.clone() for result in results)


def symbolic(a):
    rows = Variable("rows", 1, 10)
    results = [a[:rows.bind(count)].sum(axis=0).reshape(12) for count in (2, 7, 10)]
    return tuple(result.contiguous().realize() for result in results)


def trained(a, weight, optimizer, keywords):
    weight = weight.clone().realize()
    weight.requires_grad = True
    steps = optimizer([weight], lr=0.01, **keywords)
    with Context(TRAINING=1):
        for _ in range(3):
            steps.zero_grad()
            (a @ weight).square().mean().backward()
            steps.step()
    return weight


def differs(ours, theirs):
    """What is wrong, if something is."""
    (dtype, metal), (expected_type, cpu) = ours, theirs
    if dtype != expected_type or metal.shape != cpu.shape:
        return f"{dtype} {metal.shape}, not {expected_type} {cpu.shape}"
    if not dtypes.is_float(dtype):
        wrong = metal != cpu
    else:
        finite = np.isfinite(cpu)
        scale = np.abs(cpu[finite]).max(initial=0.0) + 1e-6
        with np.errstate(invalid="ignore"):
            wrong = np.where(finite, ~(np.abs(metal - cpu) <= TOLERANCE[dtype] * scale), ~((metal == cpu) | np.isnan(metal) & np.isnan(cpu)))
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return f"{wrong.sum()} of {wrong.size} differ, the first at {at}: {metal[at]}, not {cpu[at]}"


def main(wanted):
    for collect in (elementwise, reductions, products, movement, made):
        collect()
    agree = numbers = 0
    failures = []
    for name, arguments in CASES.items():
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            results = {device: list(evaluate(*arguments, device)) for device in ("METAL", "CPU")}
            problems = [problem for pair in zip(results["METAL"], results["CPU"], strict=True) if (problem := differs(*pair))]
            numbers += sum(result.size for _, result in results["METAL"])
        except Exception as error:  # one case's failure is a finding, and the others go on
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            failures.append(name)
            print(f"FAILED: {name}: {'; '.join(problems)[:600]}", flush=True)
        else:
            agree += 1
    print(f"tinygrad's Metal device and its CPU device: {agree} programs agree in {numbers} numbers, {len(failures)} do not")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
