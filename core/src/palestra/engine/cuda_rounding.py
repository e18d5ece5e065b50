"""Products and sums of rules on a GPU are rounded one by one, as they are on the CPU.

NVVM makes one operation of a*b+c by default, which rounds once: a float then differs in its last
bit, and soon a whole episode does. numba offers no way to forbid it.
"""

from __future__ import annotations

import importlib
from functools import wraps
from typing import Any

KERNELS = "palestra_kernels_"  # in the names of all kernels of games, and of no others


def round_products() -> None:
    """Have kernels of games compiled without contraction; those of others stay as they are."""
    nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
    compile_any = getattr(nvvm, "compile_ir", None)  # the simulator has none
    if compile_any is None or hasattr(compile_any, "__wrapped__"):
        return

    @wraps(compile_any)
    def compile_ir(llvmir: str | list[str], **options: Any) -> Any:
        if any(KERNELS in part for part in ([llvmir] if isinstance(llvmir, str) else llvmir)):
            options["fma"] = 0
        return compile_any(llvmir, **options)

    nvvm.compile_ir = compile_ir
