"""vLLM on a CPU, in an environment of its own: this makes it and runs the tests in vllm/ there.

Every file has a process to itself, so that a broken engine fails the tests of one file only.
"""

from __future__ import annotations

import fcntl
import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-vllm"
TESTS = Path(__file__).parent / "vllm"


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the CPU build of vLLM is for Linux on x86-64",
)
@pytest.mark.parametrize(
    "part", ["engine", "kept", "together", "embedded", "adapters", "learning", "server"]
)
@pytest.mark.usefixtures("environment")
def test_vllm_on_a_cpu(part: str) -> None:
    run(
        f"{ENVIRONMENT}/bin/python",
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"),
        *(
            "--tb=short",
            "--show-capture=no",
            "-o",
            "pythonpath=agents/tests/vllm",
            f"agents/tests/vllm/{part}.py",
        ),
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> None:
    """Make the environment once a test run, while the other test processes wait for it.

    Once, because uv lays some packages anew each time: files would vanish under a running engine.
    """
    made = tmp_path_factory.getbasetemp().parent / f"vllm-{testrun_uid}"
    with (ROOT / "scripts" / "vllm_cpu.sh").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            run("scripts/vllm_cpu.sh", str(ENVIRONMENT))
            made.touch()


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout[-2000:])
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-3000:]}"
