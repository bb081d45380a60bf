"""Writes decoded.gguf: random blocks of each quantized format of weights, and the numbers that the package `gguf`, the
reference of these formats, makes of them (tensors whose names end in `.decoded`).

Usage: pip install gguf==0.19.0; python decoded.py
"""

import numpy as np
import gguf
from gguf import GGMLQuantizationType as Q

COUNT = 512
# Where a block has half-precision scales and offsets. All bits are random, but those of halves that would not be finite.
HALVES = {
    Q.Q8_0: [0], Q.Q4_0: [0], Q.Q4_1: [0, 2], Q.Q5_0: [0], Q.Q5_1: [0, 2], Q.IQ4_NL: [0], Q.MXFP4: [], Q.Q2_K: [80, 82],
    Q.Q3_K: [108], Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208], Q.IQ4_XS: [0],
}

rng = np.random.default_rng(14)
writer = gguf.GGUFWriter("decoded.gguf", "none")
for kind, halves in HALVES.items():
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (COUNT // elements, size), dtype=np.uint8)
    for at in halves:
        blocks[:, at + 1] &= 0xBF
    if kind is Q.MXFP4:
        # The least exponents, whose scales are not normal, and the largest whose numbers are finite.
        blocks[:3, 0] = [0, 1, 252]
    values = gguf.quants.dequantize(blocks.reshape(1, -1), kind)
    assert np.isfinite(values).all() and values.dtype == np.float32
    writer.add_tensor(kind.name, blocks.reshape(1, -1), raw_dtype=kind)
    writer.add_tensor(kind.name + ".decoded", values)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
