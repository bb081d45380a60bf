"""Runs tinygrad's own tests on its Metal device, and those that fail again on its CPU device: what fails there as well lacks a
network, a newer torch or a file that the package leaves out, and says nothing of Metal. What fails on Metal alone has to be known.

Usage: judge.py FOLDER TESTS..."""
import collections
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

# Tests that pass on tinygrad's CPU device and fail here, and why.
KNOWN = {
    f"test/test_interop.py::TestInterop::{name}": "wants torch's tensors on a Mac's GPU; the CPU device skips it"
    for name in ("test_torch_interop", "test_torch_interop_write")
} | {
    f"test/test_multitensor.py::TestMultiTensor::{name}": "tinygrad commits graphs to a queue that nothing orders with the copies: queues.py"
    for name in ("test_allreduce_naive_jit", "test_allreduce_ring_jit")
}


def run(device, report, tests):
    """What pytest says of each test: its outcome, and the first line of the reason."""
    environment = os.environ | {"DEV": device, device: "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    with open(f"{report}.log", "w") as log:
        subprocess.run(command, env=environment, stdout=log, stderr=log)
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        *modules, name = case.get("classname").split(".")
        test = "/".join(modules) + f".py::{name}::{case.get('name')}"
        outcome, reason = "passed", ""
        for kind in ("failure", "error", "skipped"):
            if (found := case.find(kind)) is not None:
                outcome, reason = kind, found.get("message", "").split("\n")[0]
        outcomes[test] = outcome, reason
    return outcomes


def bad(outcomes):
    return [test for test, (outcome, _) in outcomes.items() if outcome in ("failure", "error")]


def main(folder, *tests):
    metal = run("METAL", f"{folder}/metal.xml", tests)
    counts = collections.Counter(outcome for outcome, _ in metal.values())
    failed = bad(metal)
    cpu = run("CPU", f"{folder}/cpu.xml", failed) if failed else {}
    anywhere = set(bad(cpu))
    here = [test for test in failed if test not in anywhere]
    for test in failed:
        where = "on the CPU device too" if test in anywhere else KNOWN.get(test, "ON METAL ALONE")
        print(f"{test}: {where}: {metal[test][1][:160]}")
    print(f"{len(metal)} tests: {counts['passed']} pass, {counts['skipped']} skipped, {len(anywhere)} fail on the CPU device too, "
          f"{len(here)} on Metal alone, of which {sum(test in KNOWN for test in here)} are known")
    return any(test not in KNOWN for test in here)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
