"""Torch's own samples for its operations, through torch on the CPU and through this repository's operations: what differs, what is
skipped and why. Arguments: the command that runs the program of this folder, and parts of names; only operations that have one run."""

import collections
import random
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db

from device import Device, Refused, Skip
from elementwise import OPERATIONS
import layers  # noqa: F401: adds its operations.

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int64]


def cloned(value):
    if torch.is_tensor(value):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(map(cloned, value))
    return value


def wider(value):
    """Floats in double precision: what torch should find if it did not round."""
    if torch.is_tensor(value):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(map(wider, value))
    return torch.float64 if value in DTYPES[:3] else value


def pairs(found, expected):
    if isinstance(found, list):
        return found
    return [(found, expected)]


# Tolerances besides torch's own. Scores of attention are up to 100 here: what they lose by rounding are parts of the weights.
TOLERANCES = {("nn.functional.scaled_dot_product_attention", torch.float32): {"rtol": 1.3e-6, "atol": 1e-4}}


def difference(found, expected, name):
    """What torch's comparison says with its tolerances for the type; none if they are close."""
    try:
        for own, theirs in pairs(found, expected):
            # Truth values are bytes here.
            own = own.to(theirs.dtype) if theirs.dtype == torch.bool else own
            torch.testing.assert_close(own, theirs, equal_nan=True, **TOLERANCES.get((name, own.dtype), {}))
    except AssertionError as error:
        return " ".join(str(error).split())
    return None


class Counts:
    def __init__(self):
        self.agree = self.wide = 0
        self.skipped = collections.Counter()
        self.differ = []


def samples_of(op, dtype):
    torch.manual_seed(1)
    random.seed(1)
    for make in (op.sample_inputs, op.reference_inputs):
        yield from make("cpu", dtype, requires_grad=False)
    # With every other element of a larger tensor, and NaN between them.
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        yield sample.noncontiguous()


def check(device, op, name, run, sample, dtype, counts):
    sample.name = name
    call = lambda change: op(change(sample.input), *change(tuple(sample.args)),
                             **{key: change(value) for key, value in sample.kwargs.items()})
    try:
        expected = call(cloned)
    except (RuntimeError, ValueError, IndexError, NotImplementedError, TypeError) as error:
        counts.skipped["torch refuses it: " + str(error).split("\n")[0][:60]] += 1
        return
    try:
        found = run(device, sample, expected)
    except Skip as reason:
        counts.skipped[str(reason)[:90]] += 1
        return
    except Refused as error:
        counts.differ.append(f"{dtype} {sample.summary()[:200]}: {error}")
        return
    message = difference(found, expected, name)
    if message is None:
        counts.agree += 1
        return
    if dtype.is_floating_point:
        try:
            exact = call(wider)
            wide = lambda x: x.to(dtype) if torch.is_tensor(x) and x.is_floating_point() else x
            exact = tuple(map(wide, exact)) if isinstance(exact, tuple) else wide(exact)
            if not isinstance(found, list) and difference(found, exact, name) is None:
                counts.wide += 1
                return
        except (RuntimeError, TypeError):
            pass
    counts.differ.append(f"{dtype} {sample.summary()[:200]}: {message[:300]}")


def main():
    warnings.simplefilter("ignore")
    device, wanted, total = Device(sys.argv[1]), sys.argv[2:], Counts()
    seen = set()
    print(f"{'operation':48}{'agree':>8}{'in f64':>8}{'skipped':>9}{'differ':>8}")
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        run = OPERATIONS.get(name) or OPERATIONS.get(op.name)
        if run is None or (wanted and not any(part in name for part in wanted)):
            continue
        seen |= {name, op.name}
        counts = Counts()
        own = name if name in OPERATIONS else op.name
        for dtype in DTYPES:
            if op.supports_dtype(dtype, "cpu"):
                for sample in samples_of(op, dtype):
                    check(device, op, own, run, sample, dtype, counts)
        skipped = sum(counts.skipped.values())
        print(f"{name:48}{counts.agree:8}{counts.wide:8}{skipped:9}{len(counts.differ):8}", flush=True)
        for line in counts.differ[:5]:
            print("    DIFFERS:", line, flush=True)
        total.agree += counts.agree
        total.wide += counts.wide
        total.skipped += counts.skipped
        total.differ += counts.differ
    print(f"{'all':48}{total.agree:8}{total.wide:8}{sum(total.skipped.values()):9}{len(total.differ):8}")
    for reason, count in total.skipped.most_common():
        print(f"    skipped {count:6}: {reason}")
    if not wanted and set(OPERATIONS) - seen:
        print("torch has no samples for:", *sorted(set(OPERATIONS) - seen))
    sys.exit(bool(total.differ))


main()
