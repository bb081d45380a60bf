"""What tinygrad's tests of types import from a file of theirs, test/unit/test_dtype_spec.py, that its package leaves out."""
import numpy as np
from tinygrad import dtypes

FP8E4M3_MAX, FP8E5M2_MAX = 448.0, 57344.0

core_dtypes = list({getattr(dtypes, name) for name in dtypes.fields()})
dtype_ints = [dtype for dtype in core_dtypes if dtypes.is_int(dtype)]
dtype_floats = [dtype for dtype in core_dtypes if dtypes.is_float(dtype) and dtype not in dtypes.fp8s]


def _assert_eq(tensor, dtype, expected, tolerance=1e-7):
    assert tensor.dtype == dtype, f"{tensor.dtype} and not {dtype}"
    tolerance = {dtypes.float16: 1e-3, dtypes.bfloat16: 1e-2}.get(dtype, tolerance)
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=tolerance)
