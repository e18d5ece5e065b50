"""A sandbox for programs that a model wrote: each runs in a separate, restricted process.

The operating system enforces the isolation. The process is a bare interpreter with limits on
processor time, memory and output; on Linux the kernel denies it every system call except those
needed to compute (seccomp): no file, network, process or thread. Where the kernel grants them it
also has namespaces of its own, with no network, no other process and an empty root folder. It is
killed when its time is up. Without seccomp `run_program` refuses to run, unless it is called with
`unsafe=True`.

The host reads the process's output as typed messages with limits on their size, depth and number. A
message that breaks a rule ends the program.

The language is no wall: whoever gets past it finds a process that can compute, and can say what it
likes about what it did. So what a program is paid for must be checked by the host: values against
its own, speed by processor time, which the kernel limits (`Limits.cpu`).

Further checks catch mistakes early: `check_program` reads the source and refuses imports of all but
a few modules, underscored names and attributes, and dangerous built-ins; executed lines are
counted, so that the limit ends a program at the same line every time. Programs have no clock, no
random numbers and, where the system allows it, fixed addresses, so that the same source prints the
same output. Where it does not, as in many containers, texts and hashes of objects tell no address
in CPython on 64 bits; only the hashes of Python's own classes and of NaN, and with them the order
of sets of those, still differ from process to process.
"""

from palestra.sandbox.check import MODULES, check_program, depth
from palestra.sandbox.run import TOO_LONG, Limits, Ran, run_program, unguarded_system

__all__ = [
    "MODULES",
    "TOO_LONG",
    "Limits",
    "Ran",
    "check_program",
    "depth",
    "run_program",
    "unguarded_system",
]
