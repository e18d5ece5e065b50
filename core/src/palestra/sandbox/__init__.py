"""Programs that a model wrote, run where they can do no harm: in a process of their own.

The wall is the operating system. The process is a bare interpreter with limits on processor time,
memory and output; on Linux the kernel refuses it every system call but those that compute
(seccomp): no file, network, process or thread. Where the kernel grants them it also has namespaces
of its own, with no network, no other process and an empty root folder. It is killed when its time
is up. Without seccomp `run_program` refuses to run, unless it is called with `unsafe=True`.

The host reads what comes out of the process as typed messages with limits on their size, depth and
number. A message that breaks a rule ends the program.

Before that stand checks that catch mistakes early: `check_program` reads the text and refuses
imports of all but a few modules, underscored names and attributes, and the built-ins that reach
further; executed lines are counted, which ends a program at the same line every time. Programs see
no clock, no chance and, where the system allows it, the same addresses, so that the same text
prints the same.
"""

from palestra.sandbox.check import MODULES, check_program
from palestra.sandbox.run import Limits, Ran, run_program, unguarded_system

__all__ = ["MODULES", "Limits", "Ran", "check_program", "run_program", "unguarded_system"]
