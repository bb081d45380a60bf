"""What tinygrad's tests import from a file of theirs, test/helpers.py, that its package leaves out: written anew, from its use."""
import unittest

import numpy as np
from tinygrad import Device, Tensor, dtypes
from tinygrad.codegen import get_program

REAL_DEV = Device.DEFAULT


def slow(test):
    return test


def second_device():
    try:
        return (Tensor([1.0], device=f"{REAL_DEV}:1") + 1).item() == 2.0
    except Exception:  # whatever a backend without one raises
        return False


def needs_second_gpu(test):
    return unittest.skipUnless(second_device(), "needs a second device")(test)


def not_support_multi_device():
    return not second_device()


def rand_for_dtype(dtype, size, allow_subnormal=True):
    if dtypes.is_unsigned(dtype):
        return np.random.randint(0, 100, size=size, dtype=f"uint{dtype.itemsize * 8}")
    if dtypes.is_int(dtype):
        return np.random.randint(-100, 100, size=size, dtype=f"int{dtype.itemsize * 8}")
    if dtype == dtypes.bool:
        return np.random.choice([True, False], size=size)
    values = np.random.uniform(-10, 10, size=size)
    if dtype in (dtypes.bfloat16, *dtypes.fp8s):
        return Tensor(values.astype(np.float32), device="CPU").cast(dtype).cast(dtypes.float32).numpy()
    return values.astype({2: np.float16, 4: np.float32, 8: np.float64}[dtype.itemsize])


def get_uops(sink, renderer=None):
    return get_program(sink, renderer or Device[REAL_DEV].renderer).uops


def runs(item):
    """Kernels that an entry of a jitted function's cache stands for: one, or those of a graph."""
    cache = getattr(item.prg, "jit_cache", None)
    return len(cache) if cache is not None else 1


def assert_jit_cache_len(function, expected):
    cache = function.jit_cache
    assert sum(map(runs, cache)) == expected, f"{len(cache)} entries, not {expected} kernels"
