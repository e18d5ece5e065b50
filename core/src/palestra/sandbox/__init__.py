"""Programs that a model wrote, run where they can do no harm: in a process of their own.

Four guards, each enough against a different mistake. The text is checked before anything runs
(`check_program`: no import but of a few modules, no underscored name, none of the built-ins that
reach further). The process is a bare interpreter with limits on processor time, memory and output,
and a count of executed lines that ends a program at the same line every time. On Linux the kernel
refuses it every call but those that compute: no file, network, process or thread. And it is killed
when its time is up. Programs see no clock and no chance, so that the same text prints the same.
"""

from palestra.sandbox.check import MODULES, check_program
from palestra.sandbox.run import Limits, Ran, run_program

__all__ = ["MODULES", "Limits", "Ran", "check_program", "run_program"]
