"""What the kernel refuses to an agent's process, on Linux.

It reads the files of Python and of the installed packages, and writes none (Landlock). It starts no
process, opens no socket and signals nobody (seccomp). Where the kernel grants them it also has
namespaces of its own: no network, and no other process to be seen.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from palestra.sandbox.child import (
    ALLOWED,
    ANSWER,
    DIE_WITH_PARENT,
    EQUAL,
    FIRST_ARGUMENT,
    LOAD,
    MASKED,
    NO_NEW_PRIVILEGES,
    PASS,
    REFUSE,
    SIGKILL,
    Rule,
    enter_namespaces,
    refuse_others,
)
from palestra.sandbox.run import GUARDED_MACHINES

# The numbers of the calls that pass, in the order of `GUARDED_MACHINES`; -1 where there is none.
# Of memory, of what is open, of files (which Landlock keeps to reading), of threads and time.
PASSED = """
read 0 63, write 1 64, open 2 -1, close 3 57, stat 4 -1, fstat 5 80, lstat 6 -1, poll 7 -1,
lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, ioctl 16 29, pread64 17 67, pwrite64 18 68,
readv 19 65, writev 20 66, access 21 -1, pipe 22 -1, select 23 -1, sched_yield 24 124,
mremap 25 216, msync 26 227, mincore 27 232, madvise 28 233, dup 32 23, dup2 33 -1, pause 34 -1,
nanosleep 35 101, getitimer 36 102, alarm 37 -1, setitimer 38 103, getpid 39 172, sendfile 40 71,
sendto 44 206, recvfrom 45 207, shutdown 48 210, socketpair 53 199, getsockopt 55 209, exit 60 93,
uname 63 160, fcntl 72 25, getcwd 79 17, readlink 89 -1, umask 95 166, gettimeofday 96 169,
getrlimit 97 163, getrusage 98 165, sysinfo 99 179, times 100 153, getuid 102 174, getgid 104 176,
geteuid 107 175, getegid 108 177, getppid 110 173, getpgrp 111 -1, sigaltstack 131 132,
statfs 137 43, fstatfs 138 44, arch_prctl 158 -1, gettid 186 178, futex 202 98,
sched_getaffinity 204 123, epoll_create 213 -1, getdents64 217 61, set_tid_address 218 96,
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, exit_group 231 94,
epoll_wait 232 -1, epoll_ctl 233 21, openat 257 56, newfstatat 262 79, readlinkat 267 78,
faccessat 269 48, pselect6 270 72, ppoll 271 73, set_robust_list 273 99, epoll_pwait 281 22,
eventfd2 290 19, epoll_create1 291 20, dup3 292 24, pipe2 293 59, getrandom 318 278,
membarrier 324 283, statx 332 291, rseq 334 293, close_range 436 436, faccessat2 439 439
"""
CLONE, CLONE3, PRCTL, PRLIMIT, TGKILL = (56, 220), (435, 435), (157, 167), (302, 261), (234, 131)
CAPABILITIES = 0x20080522  # the version of capset's header
THREADS = 512  # more than libraries start on one machine; the kernel holds root to no such limit
THREAD = 0x00010000  # the flag of clone that starts no process
NO_SUCH_CALL = 0x00050000 | 38  # ENOSYS: the library then calls clone, whose flags can be seen
NAME_THREAD = 15  # of prctl

CREATE_RULES, ADD_RULE, RESTRICT = 444, 445, 446  # of Landlock, the same on every machine
READ_FILE, READ_FOLDER = 1 << 2, 1 << 3
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}  # by version: how many rights are refused by default
NETWORK, SCOPES = 3, 3  # TCP to and fro from version 4; signals and abstract sockets from 6
ALWAYS = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"),
    *("/etc/localtime", "/usr/share/zoneinfo", "/proc/cpuinfo", "/proc/meminfo"),
    *("/sys/devices/system/cpu", "/dev/null", "/dev/urandom"),
)


class _RuleSet(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock_version() -> int:
    """The version of Landlock that this kernel offers; 0 without it."""
    return max(0, int(ctypes.CDLL(None).syscall(CREATE_RULES, None, 0, 1)))


def readable_paths(extra: Iterable[str] = ()) -> dict[str, bool]:
    """The files and folders that an agent's process reads; True where only names are listed.

    Those are folders on the module path outside of Python's own, such as that of a script: of what
    lies in them, packages and modules alone can be read.
    """
    whole = {*ALWAYS, sys.prefix, sys.base_prefix, sys.exec_prefix, *extra}
    found = dict.fromkeys(whole, False)
    for entry in map(Path, dict.fromkeys(sys.path)):
        if not entry.is_absolute() or any(entry.is_relative_to(one) for one in whole):
            continue
        if entry.is_file() or entry.name in ("site-packages", "dist-packages"):
            found[str(entry)] = False
        elif entry.is_dir():
            found[str(entry)] = True
            found.update(dict.fromkeys(modules_in(entry), False))
    return found


def modules_in(folder: Path) -> list[str]:
    """The packages and modules that lie in a folder."""
    return [str(path) for path in folder.iterdir() if _is_module(path)]


def _is_module(path: Path) -> bool:
    if path.is_dir():
        return (path / "__init__.py").exists() or path.suffix in (".dist-info", ".egg-info")
    return path.suffix in (".py", ".so", ".pth")


def enclose(readable: dict[str, bool], memory: int) -> tuple[bool, str]:
    """Shut this process in, which has one thread; `memory` is in MiB.

    Returns whether it has namespaces of its own, and what the kernel refused; empty if nothing.
    """
    library = ctypes.CDLL(None)
    separate = enter_namespaces(library)
    if not separate:
        library.prctl(DIE_WITH_PARENT, SIGKILL, 0, 0, 0)
    for kind, most in (
        (resource.RLIMIT_AS, memory << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 256),
        # in namespaces of its own they are counted apart from the others of the user
        *([(resource.RLIMIT_NPROC, THREADS)] if separate else []),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))
    library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    # an administrator's process could raise its limits again
    library.capset((ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)())
    if not _only_read(library, readable):
        return separate, "Landlock"
    return separate, "" if _only_compute() else "seccomp"


def _only_read(library: ctypes.CDLL, readable: dict[str, bool]) -> bool:
    version = landlock_version()
    if not version:
        return False
    rights = FILE_RIGHTS[max(one for one in FILE_RIGHTS if one <= version)]
    rules = _RuleSet((1 << rights) - 1, NETWORK if version > 3 else 0, SCOPES if version > 5 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = library.syscall(CREATE_RULES, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    for path, names_only in readable.items():
        with suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            folder = stat.S_ISDIR(os.fstat(place).st_mode)
            rights = READ_FOLDER if names_only else READ_FILE | (READ_FOLDER if folder else 0)
            library.syscall(ADD_RULE, ruleset, 1, ctypes.byref(_Beneath(rights, place)), 0)
            os.close(place)
    done = library.syscall(RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return done


def _only_compute() -> bool:
    """Refuse all system calls but those that compute, read what may be read and start threads."""
    name = platform.machine()
    machine, column = ALLOWED[name][0], GUARDED_MACHINES.index(name)
    numbers = [int(call.split()[1 + column]) for call in PASSED.split(",")]
    return refuse_others(
        machine,
        [number for number in numbers if number >= 0],
        [
            Rule(EQUAL, 0, 1, CLONE3[column]),
            Rule(ANSWER, 0, 0, NO_SUCH_CALL),
            *_first_argument(CLONE[column], MASKED, THREAD),
            *_first_argument(PRCTL[column], EQUAL, NAME_THREAD),
            *_first_argument(PRLIMIT[column], EQUAL, 0),  # of itself
            *_first_argument(TGKILL[column], EQUAL, os.getpid()),
        ],
    )


def _first_argument(call: int, jump: int, value: int) -> list[Rule]:
    """Let a call pass if its first argument is, or has the bits of, a value; else refuse it."""
    return [
        Rule(EQUAL, 0, 4, call),
        Rule(LOAD, 0, 0, FIRST_ARGUMENT),
        Rule(jump, 0, 1, value),
        Rule(ANSWER, 0, 0, PASS),
        Rule(ANSWER, 0, 0, REFUSE),
    ]
