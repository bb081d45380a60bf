"""Writes quantized.gguf: floats, and what the quantizers of the package `gguf`, the reference, make of them.

Usage: pip install gguf==0.19.0; python quantized.py
"""

import numpy as np
import gguf
from gguf import GGMLQuantizationType as Q

rng = np.random.default_rng(15)
values = rng.standard_normal((64, 32), dtype=np.float32)
values *= np.float32(2) ** rng.integers(-12, 8, (64, 1))
values[0] = 0
values[1] = -1.5
values[2] = np.tile(np.float32([3, -3]), 16)
values[3] = np.tile(np.float32([-3, 3]), 16)
values[4] = np.arange(32) - 16
values[5] = np.arange(32) * 0.5
values[6] = np.nextafter(np.float32(1), np.float32(0)) * np.sign(values[6])
values[7, 5:] = 0
values[8] = np.float32(1e-7) * np.arange(32)
values[9] = 100 + np.arange(32) / 64

writer = gguf.GGUFWriter("quantized.gguf", "none")
writer.add_tensor("F32", values)
for kind in (Q.F16, Q.BF16, Q.Q8_0, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.MXFP4):
    writer.add_tensor(kind.name, gguf.quants.quantize(values, kind), raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
