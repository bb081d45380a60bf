"""A race of tinygrad's between queues, and that there is no other: `queues.py as-it-is` has to be reported by the race sanitizer,
`queues.py ordered` has to be right and without a report.

Every tinygrad device METAL:1, METAL:2, ... has a queue of its own on the one GPU, and waits for that queue alone before it copies to
another device. But a recorded graph of METAL:1's kernels is committed to the queue of METAL: GraphRunner's constructor cuts the
device's number off. Nothing orders that queue with a copy that follows on METAL:1's. `ordered` gives a graph its kernels' device."""
import sys

import numpy as np
from tinygrad import Tensor, TinyJit
from tinygrad.engine import jit
from tinygrad.helpers import Context
from tinygrad.uop.ops import Ops, UOp

RUNS, CALLS = 5, 5  # The first two calls record, the others replay.
DEVICES = tuple(f"METAL:{number}" for number in range(1, 5))


def order():
    construct = jit.GraphRunner.__init__

    def construct_on_device(self, cache, *others):
        construct(self, cache, *others)
        self.device = cache[0].prg.device

    jit.GraphRunner.__init__ = construct_on_device


def sums(whole):
    """As tinygrad's test_allreduce_ring_jit computes it: the sum of four parts on one device, and on four that exchange them."""
    here = (whole[0:64] + whole[64:128] + whole[128:192] + whole[192:256]).repeat([4, 1]).realize()
    parts = whole.shard(DEVICES, 0).realize()
    exchanged = Tensor(UOp.allreduce(parts.uop, Ops.ADD, parts.device)).realize()
    return here, exchanged


def wrong_calls():
    recorded, wrong = TinyJit(sums), 0
    for _ in range(CALLS):
        here, exchanged = recorded(Tensor.rand(256, 256))
        wrong += not np.allclose(here.numpy(), exchanged.numpy(), atol=1e-5)
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "ordered":
        order()
    with Context(RING=2):
        wrong = sum(wrong_calls() for _ in range(RUNS))
    print(f"graphs {sys.argv[1]}: {wrong} of {RUNS * CALLS} sums are wrong")
    sys.exit(wrong > 0)
