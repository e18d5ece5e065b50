"""Fuzz every installed environment for some minutes each: `make fuzz`, or a shard of it at night.

    python scripts/fuzz_all.py --minutes 1 --shard 2/8

Shard 2 of 8 are the environments whose number leaves 2 when divided by 8, so that eight machines
share the work. What is found is printed and kept in fuzz-findings; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import palestra


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="for each environment")
    parser.add_argument("--shard", default="0/1", help="which part, as in 2/8")
    asked = parser.parse_args()
    number, _, count = asked.shard.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        parser.error(f"--shard {asked.shard!r} must be NUMBER/COUNT, as in 2/8, numbered from 0")
    ids = sorted(spec.id for spec in palestra.specs())[int(number) :: int(count)]
    broken = [env for env in ids if not passes(env, asked.minutes)]
    print(f"{len(ids)} environments fuzzed; findings in: {', '.join(broken) or 'none'}")
    return 1 if broken else 0


def passes(env: str, minutes: float) -> bool:
    print(f"# {env}", flush=True)
    command = [sys.executable, "-m", "palestra", "fuzz", env, "--minutes", str(minutes)]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
