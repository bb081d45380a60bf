"""The program of this folder at the other end of a pipe: torch's tensors go in with their strides, results come back."""

import json
import shlex
import subprocess

import torch

TYPES = {
    torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8", torch.uint8: "u8",
    torch.int32: "i32", torch.uint32: "u32", torch.int64: "i64", torch.bool: "u8",
}


class Skip(Exception):
    """A sample that the operations do not have, and why."""


class Refused(Exception):
    """An error of a call."""


def region(tensor):
    """The memory that a tensor's elements span, with a few elements before it, and the offset of the first one."""
    extent = 0 if tensor.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    before = min(tensor.storage_offset(), 7) if extent else 0
    flat = tensor.detach().as_strided((before + extent,), (1,), tensor.storage_offset() - before if extent else 0)
    return flat.view(torch.uint8).numpy().tobytes(), before


class Device:
    def __init__(self, program):
        self.program = program
        self.pipe = None

    def start(self):
        self.pipe = subprocess.Popen(shlex.split(self.program), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, call, inputs, results, **arguments):
        """Runs a call. `results` has for each name (type, shape), or a tensor that is there before. Gives the results."""
        if self.pipe is None or self.pipe.poll() is not None:
            self.start()
        tensors, contents = [], []
        for name, tensor in inputs.items():
            if tensor is None:
                continue
            if tensor.dtype not in TYPES:
                raise Skip(f"a tensor of {tensor.dtype}")
            if tensor.dim() > 8:
                raise Skip("more than 8 dimensions")
            data, offset = region(tensor)
            tensors.append({"name": name, "type": TYPES[tensor.dtype], "shape": list(tensor.shape),
                            "strides": list(tensor.stride()), "offset": offset, "bytes": len(data), "written": False})
            contents.append(data)
        written = {}
        for name, result in results.items():
            before = (result.clone(memory_format=torch.contiguous_format) if torch.is_tensor(result)
                      else torch.zeros(result[1], dtype=result[0]))
            if before.dtype not in TYPES:
                raise Skip(f"a result of {before.dtype}")
            data, _ = region(before)
            tensors.append({"name": name, "type": TYPES[before.dtype], "shape": list(before.shape),
                            "strides": list(before.stride()), "offset": 0, "bytes": len(data), "written": True})
            contents.append(data)
            written[name] = (before.dtype, before.shape, len(data))
        header = json.dumps({"call": call, "arguments": arguments, "tensors": tensors}, allow_nan=False)
        self.pipe.stdin.write(header.encode() + b"\n" + b"".join(contents))
        self.pipe.stdin.flush()
        line = self.pipe.stdout.readline()
        if not line:
            raise Refused(f"{call}: the program ended")
        answer = json.loads(line)
        if answer.get("unsupported"):
            raise Skip(answer["error"])
        if "error" in answer:
            raise Refused(answer["error"])
        found = {}
        for name, (dtype, shape, length) in written.items():
            data = bytearray(self.pipe.stdout.read(length))
            flat = torch.frombuffer(data, dtype=dtype) if length else torch.empty(0, dtype=dtype)
            found[name] = flat.reshape(shape)
        return found

    def one(self, call, inputs, like, **arguments):
        """The result `y`, of the type and shape of `like`."""
        return self.call(call, inputs, {"y": (like.dtype, like.shape)}, **arguments)["y"]

    def convert(self, tensor, dtype):
        if tensor.dtype == dtype:
            return tensor
        return self.call("convert", {"x": tensor}, {"y": (dtype, tensor.shape)})["y"]
