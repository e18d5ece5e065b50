"""The side a program runs in: started by `run.py` in a bare interpreter, and importing none of us.

A line of JSON with the program comes in. Lines of JSON go out: what guards the process, calls of
tools, each answered by a line, and at last what became of the program. Nothing here keeps a program
in: whoever gets past the language finds a process that can only compute and write to its host.
"""

from __future__ import annotations

import _ast as nodes
import _string  # type: ignore[import-not-found]
import builtins
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import sys

TYPE_CHECKING = False  # typing takes milliseconds to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType, ModuleType
    from typing import Any

GIVEN = (
    "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter "
    "float format frozenset hash hex int isinstance issubclass iter len list map max min next oct "
    "ord pow property range repr reversed round set slice sorted staticmethod classmethod str sum "
    "super tuple zip ArithmeticError AssertionError AttributeError Exception IndexError KeyError "
    "LookupError NotImplementedError OverflowError RecursionError RuntimeError StopIteration "
    "TypeError ValueError ZeroDivisionError True False None Ellipsis NotImplemented "
    "__build_class__ object"
)
# What a program gets of a module; all of its public names where the table has none.
NAMES = {
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce "
    "total_ordering",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": "",
    "json": "JSONDecodeError dumps loads",
    "math": "",
    "re": "A ASCII DOTALL I IGNORECASE M MULTILINE Match Pattern S U UNICODE VERBOSE X compile "
    "error escape findall finditer fullmatch match search split sub subn",
    "statistics": "StatisticsError correlation covariance fmean geometric_mean "
    "harmonic_mean linear_regression mean median median_grouped median_high median_low mode "
    "multimode pstdev pvariance quantiles stdev variance",
}
# Modules import these when they are used, and no program can name them.
HIDDEN = {
    "collections": ("heapq",),
    "datetime": ("_strptime", "time"),
    "re": ("warnings",),
    "statistics": ("heapq",),
}
PROGRAM = "<program>"  # its file, by name
TOO_DEEP = "RecursionError: the program calls itself too deeply"
ONLY_TREE = 0x400  # of compile: return the tree
READ_TEMPLATE = "__read_template__"  # a name that no program can write

# System calls that only compute, by the number a kernel gives them: reading and writing what is
# open already, memory, signals to oneself, the clock, the end.
ALLOWED = {
    "x86_64": (0xC000003E, (0, 1, 5, 8, 9, 10, 11, 12, 13, 14, 15, 25, 28, 60, 202, 228, 231)),
    "aarch64": (
        0xC00000B7,
        (62, 63, 64, 80, 93, 94, 98, 113, 134, 135, 139, 214, 215, 216, 222, 226, 233),
    ),
}
# Namespaces: mount, UTS, IPC, user, process ids, network
NEW_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
READ_ONLY_BARE = 1 | 2 | 4 | 8  # of mount: read-only, no set-uid, no devices, no programs
DETACH = 2  # of umount
DIE_WITH_PARENT, NO_NEW_PRIVILEGES, SECCOMP, BY_FILTER = 1, 38, 22, 2  # of prctl
SIGKILL = 9


class Rule(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    )


class Rules(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(Rule)))


LOAD, EQUAL, MASKED, ANSWER = 0x20, 0x15, 0x45, 0x06  # of BPF: load a word, jump if, return
PASS, REFUSE = 0x7FFF0000, 0x00050000 | 1  # fail with EPERM
FIRST_ARGUMENT = 16  # where its lower half stands


def guard() -> bool:
    """Have the kernel refuse every other system call (seccomp); returns whether it does."""
    if not sys.platform.startswith("linux") or os.uname().machine not in ALLOWED:
        return False
    machine, numbers = ALLOWED[os.uname().machine]
    return refuse_others(machine, numbers)


def refuse_others(machine: int, numbers: Sequence[int], rules: Sequence[Rule] = ()) -> bool:
    """Have the kernel refuse the system calls whose numbers are not listed.

    `rules` are asked first, with the call's number loaded; they end in it too, or answer.
    """
    rules = [
        Rule(LOAD, 0, 0, 4),  # the architecture the call was made for
        Rule(EQUAL, 1, 0, machine),
        Rule(ANSWER, 0, 0, REFUSE),
        Rule(LOAD, 0, 0, 0),  # the call's number
        *rules,
        *(Rule(EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)),
        Rule(ANSWER, 0, 0, REFUSE),
        Rule(ANSWER, 0, 0, PASS),
    ]
    program = Rules(len(rules), (Rule * len(rules))(*rules))
    call = ctypes.CDLL(None).prctl
    if call(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    return bool(call(SECCOMP, BY_FILTER, ctypes.byref(program), 0, 0) == 0)


def isolate() -> bool:
    """Move to new namespaces, with no network, no other process and an empty root folder.

    Many systems refuse this to ordinary users; seccomp does not depend on it. Returns whether the
    kernel granted it. A new process goes on in the namespaces; this one waits for it.
    """
    if not sys.platform.startswith("linux") or os.uname().machine not in PIVOT_ROOT:
        return False
    library = ctypes.CDLL(None)
    if not enter_namespaces(library):
        return False
    return leave_files(library)


def enter_namespaces(library: ctypes.CDLL) -> bool:
    """Go on as the first process of new namespaces; False if the kernel does not grant them."""
    if library.unshare(NEW_NAMESPACES):
        return False
    child = os.fork()
    if child:
        os.close(0)
        os.close(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code < 0:
            os.kill(os.getpid(), -code)  # end as the program ended
        os._exit(code)
    library.prctl(DIE_WITH_PARENT, SIGKILL, 0, 0, 0)
    return True


def leave_files(library: ctypes.CDLL) -> bool:
    """Make an empty, read-only folder the root, and let go of the host's files."""
    empty = b"/tmp" if os.path.isdir("/tmp") else b"/proc"
    if library.mount(b"none", empty, b"tmpfs", READ_ONLY_BARE, b"size=4k,mode=0555"):
        return False
    os.chdir(empty)
    if library.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."):
        return False
    return bool(library.umount2(b".", DETACH) == 0)


def limit(limits: dict[str, Any]) -> None:
    """Give up what a program does not need."""
    memory = limits["memory"] << 20
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits["cpu"]),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 3),  # what is open already, so no file and no socket
        (resource.RLIMIT_NPROC, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def public(name: str) -> ModuleType:
    """A module with the names in the table, and none of the modules it has imported."""
    module = importlib.import_module(name)
    names = NAMES[name].split() or [n for n in vars(module) if not n.startswith("_")]
    found = {n: getattr(module, n) for n in names if hasattr(module, n)}
    if name == "functools":
        found["wraps"] = wraps
    if name == "statistics":  # written in Python, which calls methods of what it is given
        found = {n: plainly(f) if type(f) is type(public) else f for n, f in found.items()}
    if name == "re":  # whose flags lead to enum
        found.update({n: int(value) for n, value in found.items() if n.isupper()})
    own = type(sys)(name)
    vars(own).update(found)
    return own


def plainly(function: Any) -> Callable[..., Any]:
    """A function of numbers and texts that takes nothing with methods of the program's own."""

    def call(*args: Any, **named: Any) -> Any:
        own = {name: plain(value) for name, value in named.items()}
        return function(*(plain(value) for value in args), **own)

    wraps(function)(call)
    return call


def plain(value: Any) -> Any:
    if value is None or type(value) in (bool, float, int, str):
        return value
    if isinstance(value, str) or not hasattr(type(value), "__iter__"):
        raise TypeError(f"statistics takes numbers and texts, not {type(value).__name__}")
    return [plain(item) for item in value]


def wraps(wrapped: Any) -> Callable[[Any], Any]:
    """functools.wraps, for names and documentation alone."""

    def decorate(wrapper: Any) -> Any:
        for name in ("__name__", "__qualname__", "__doc__"):
            if hasattr(wrapped, name):
                setattr(wrapper, name, getattr(wrapped, name))
        return wrapper

    return decorate


def read_template(value: Any, name: str) -> Any:
    """The attribute `format` or `format_map` of a value; a template may not read attributes."""
    found = getattr(value, name)
    if found is str.format or found is str.format_map:

        def method(text: str, /, *args: Any, **named: Any) -> str:
            return fill(found, text, args, named)

        return method
    owner = getattr(found, "__self__", None)
    if type(found) is not type(len) or not isinstance(owner, str):
        return found

    def bound(*args: Any, **named: Any) -> str:
        return fill(getattr(str, name), owner, args, named)

    return bound


def fill(method: Any, template: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    text = exact(template)
    check_template(text)
    return str(method(text, *args, **named))


def check_template(text: str) -> None:
    for _, field, spec, _ in _string.formatter_parser(text):
        if field and any(
            attribute for attribute, _ in _string.formatter_field_name_split(field)[1]
        ):
            raise ValueError("a format template may not read attributes; pass the value itself")
        if spec:
            check_template(spec)


def exact(text: str) -> str:
    """A text without a subclass's own methods, in characters that can be written."""
    plain = str.__getitem__(text, slice(None))
    return plain.encode("utf-8", "backslashreplace").decode()


def guard_templates(tree: nodes.AST) -> None:
    """Have every `x.format` and `x.format_map` read by `read_template`."""
    left = [tree]
    while left:
        node = left.pop()
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = map(guarded_template, value)
                left += [inner for inner in value if isinstance(inner, nodes.AST)]
            elif isinstance(value, nodes.AST):
                inner = guarded_template(value)
                setattr(node, field, inner)
                left.append(inner)


def guarded_template(node: Any) -> Any:
    """A call of `read_template` for the attributes that it reads; any other node as it is."""
    if not isinstance(node, nodes.Attribute) or node.attr not in ("format", "format_map"):
        return node
    if not isinstance(node.ctx, nodes.Load):
        return node
    at = {name: getattr(node, name) for name in node._attributes}
    reader = nodes.Name(id=READ_TEMPLATE, ctx=node.ctx, **at)
    return nodes.Call(
        func=reader, args=[node.value, nodes.Constant(value=node.attr, **at)], keywords=[], **at
    )


# Where 64-bit CPython keeps a type's `repr`, `hash` and finaliser, and the function of a method
REPR, HASH, FINALISE, WRAPPED = 88, 120, 392, 48
GENERATOR = type(n for n in "")


def leave_generators() -> bool:
    """Have a generator that nothing refers to end where it waits; returns whether it will.

    Python would go on in it, to its `finally` or the end of its `with`. Where the last reference
    goes while a line is being counted, those lines would not be.
    """
    if not is_known(GENERATOR, {"__del__": FINALISE}):
        return False
    put(GENERATOR, FINALISE, 0)
    return True


def hide_addresses() -> bool:
    """Have no text and no hash tell an address; returns whether this interpreter could be changed.

    Addresses differ between processes unless the kernel keeps them (`run._start`). A text says
    0x..., as the host writes it too, and objects are hashed by the order in which they first were.
    Hashes of Python's own classes and of NaN stay, as they are in use inside Python.
    """
    places = {"__repr__": REPR, "__hash__": HASH}
    if not is_known(object, places):
        return False
    function, built_in, wrapper = type(at), type(len), type("".__str__)
    method = type(PrintBuffer(0).write)
    texts = {
        at(one, REPR): text_of(vars(one)["__repr__"])
        for one in (object, function, built_in, wrapper, GENERATOR)
    }
    whole, bound = numbering_hash(), numbered_by_owner()
    hashes = {at(one, HASH): bound for one in (method, built_in, wrapper)}
    hashes |= {at(one, HASH): whole for one in (object, function)}
    for kind in subclasses(object):
        for name, changed in (("__repr__", texts), ("__hash__", hashes)):
            if at(kind, places[name]) in changed:
                replace(kind, name, places[name], changed[at(kind, places[name])])
    return True


def is_known(kind: type, places: dict[str, int]) -> bool:
    """Whether this interpreter keeps a type's methods at these places."""
    if sys.implementation.name != "cpython" or sys.maxsize < 1 << 32:
        return False
    return all(at(kind, at_) == at(vars(kind)[name], WRAPPED) for name, at_ in places.items())


def replace(kind: type, name: str, place: int, function: Any) -> None:
    """Have a method of a type, of its own or inherited, be a function in Python.

    Python calls it as it calls a method of a program's class. A callback of ctypes would not do:
    where the stack ends, it returns whatever is in memory.
    """
    if name in vars(kind):
        (methods,) = gc.get_referents(vars(kind))
        methods[name] = function
    put(kind, place, at(Written, place))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


class Written:
    """A class with methods in Python, whose places hold what calls such methods."""

    def __repr__(self) -> str:
        return ""

    def __hash__(self) -> int:
        return 0


def subclasses(kind: type) -> list[type]:
    """A class and its subclasses, without those of classes: Python's own tables hold classes."""
    left, found = [kind], dict.fromkeys([kind])
    while left:
        inner: list[type] = type.__subclasses__(left.pop())
        for one in inner:
            if one not in found and not issubclass(one, type):
                found[one] = None
                left.append(one)
    return list(found)


def at(thing: object, place: int) -> int:
    return ctypes.c_size_t.from_address(id(thing) + place).value


def put(thing: object, place: int, address: int) -> None:
    ctypes.c_size_t.from_address(id(thing) + place).value = address


def text_of(told: Callable[[Any], str]) -> Callable[[Any], str]:
    """A `repr` like one that there is, that does not tell where the object is."""

    def text(thing: Any) -> str:
        owner = getattr(thing, "__self__", thing) if type(thing) in OWNED else thing
        return str(told(thing)).replace(hex(id(thing)), "0x...").replace(hex(id(owner)), "0x...")

    return text


def numbering_hash() -> Callable[[Any], int]:
    """A `hash` that numbers objects in the order in which they are first hashed.

    It keeps them, as another object at the same address would get the same number.
    """
    numbers: dict[int, tuple[int, Any]] = {}

    def number(thing: Any) -> int:
        return numbers.setdefault(id(thing), (len(numbers) + 1, thing))[0]

    return number


def numbered_by_owner() -> Callable[[Any], int]:
    """A `hash` of methods, which are equal if their objects are the same."""
    numbers: dict[tuple[int, str], tuple[int, Any]] = {}

    def number(thing: Any) -> int:
        owner, name = thing.__self__, thing.__name__
        return numbers.setdefault((id(owner), name), (len(numbers) + 1, owner))[0]

    return number


OWNED = (type(len), type("".__str__))  # what is told of by the object it belongs to


class PrintBuffer(io.StringIO):
    """What was printed, up to a length."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def write(self, text: str) -> int:
        kept = exact(text)[: self.left]
        self.left -= len(kept)
        return super().write(kept)


class Process:
    """The program's world, and the line that leads out of it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.limits = order["limits"]
        self.printed = PrintBuffer(self.limits["printed"])
        self.lines = self.limits["lines"] or 0
        self.modules: dict[str, Any] = {}
        if not order["source"].isascii():
            importlib.import_module("unicodedata")  # names of other scripts are read with it
        for name in order["modules"]:
            self.modules[name] = public(name)
            for hidden in HIDDEN.get(name, ()):
                importlib.import_module(hidden)

    def enclose(self) -> dict[str, Any]:
        """Shut the process in, step by step; returns what the host is told of it."""
        for found in (sys.path, sys.meta_path, sys.path_hooks, os.environ):
            found.clear()
        for name in [name for name in sys.modules if "." in name]:
            del sys.modules[name]  # `from json import decoder` would find json.decoder there
        sys.stdin = sys.stdout = sys.stderr = None
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.closerange(3, 1 << 16)
        isolated = isolate()
        hide_addresses()
        leave_generators()
        limit(self.limits)
        return {"type": "ready", "guarded": guard(), "isolated": isolated}

    def run(self) -> dict[str, Any]:
        """Run the program and its function; the last message."""
        values: list[Any] = []
        counted = self.limits["lines"]
        try:
            code = self.compile()
            names: dict[str, Any] = {"__builtins__": self.builtins(), "__name__": "program"}
            names.update({name: self.tool(name) for name in self.order["tools"]})
            if counted:
                sys.settrace(self.count)
            exec(code, names)
            if self.order["function"]:
                function = names.get(self.order["function"])
                if not callable(function):
                    raise NameError(f"the program defines no function {self.order['function']}")
                for given in self.order["arguments"]:  # a comprehension's lines would count
                    values.append(function(*given))
            if counted and sys.gettrace() is None:  # as Python stops where stack or memory ends
                return self.last([], TOO_DEEP)
            if counted:
                sys.settrace(self.count_program)
            return self.last(values)
        except BaseException as error:
            if counted:
                sys.settrace(self.count_program)
            return self.last([], describe(error))

    def compile(self) -> Any:
        tree = compile(self.order["source"], PROGRAM, "exec", ONLY_TREE, dont_inherit=True)
        guard_templates(tree)
        return compile(tree, PROGRAM, "exec", dont_inherit=True)

    def last(self, values: list[Any], error: str = "") -> dict[str, Any]:
        try:
            values = json.loads(encode(values))  # text and numbers only, with no subclass left
        except Exception:
            values, error = [], "a value is not made of finite numbers, text, lists and tables"
        if not error and self.limits["lines"] and sys.gettrace() is None:  # in a value's method
            values, error = [], TOO_DEEP
        sys.settrace(None)
        printed = self.printed.getvalue()
        lines = (self.limits["lines"] or 0) - max(self.lines, 0)
        done = {"type": "done", "printed": printed, "error": error, "values": values}
        return {**done, "lines": lines}

    def count_program(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Count lines of methods of the program's that we call, and not our own."""
        return self.count if frame.f_code.co_filename == PROGRAM else None

    def count(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines -= 1
            if self.lines < 0:
                most = self.limits["lines"]
                self.stop(f"line {frame.f_lineno}: the program executed more than {most} lines")
        return self.count

    def stop(self, why: str) -> None:
        """End the program here, whatever it would catch."""
        say(self.last([], why))
        os._exit(0)

    def builtins(self) -> dict[str, Any]:
        given = {name: getattr(builtins, name) for name in GIVEN.split()}
        modules, printed = self.modules, self.printed

        def load(name: str, *_: Any) -> Any:
            return modules.get(name)  # Python's own modules find theirs, which are hidden

        def write(*values: Any, sep: str = " ", end: str = "\n") -> None:
            print(*values, sep=sep, end=end, file=printed)

        own = {"print": write, "__import__": load, READ_TEMPLATE: read_template}
        return {**given, **own}

    def tool(self, name: str) -> Callable[..., Any]:
        printed, counted = self.printed, self.limits["lines"]

        def call(*args: Any, **named: Any) -> Any:
            if counted and sys.gettrace() is None:  # its lines do not count, nor does what it says
                self.stop(TOO_DEEP)
            message = {"tool": name, "args": args, "named": named, "printed": printed.getvalue()}
            say({"type": "call", **message})
            answer = json.loads(hear())
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["value"]

        return call


def describe(error: BaseException) -> str:
    """An error in a line, with the program's own line number."""
    at = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PROGRAM:
            at = trace.tb_lineno
        trace = trace.tb_next
    where = f"line {at}: " if at else ""
    try:
        return exact(f"{where}{type(error).__name__}: {error}")[:1000]
    except BaseException:
        return f"{where}{type(error).__name__}"


def encode(message: Any) -> bytes:
    """JSON with finite numbers and text that can be written; raises ValueError or TypeError."""
    return json.dumps(message, allow_nan=False, ensure_ascii=False).encode()


def say(message: dict[str, Any]) -> None:
    """Write a line to the host."""
    line = memoryview(encode(message) + b"\n")
    while line:
        line = line[os.write(1, line) :]


def hear() -> bytes:
    """Read a line from the host, which writes one line at a time."""
    line = bytearray()
    while not line.endswith(b"\n"):
        read = os.read(0, 1 << 16)
        if not read:
            os._exit(0)
        line += read
    return bytes(line)


if __name__ == "__main__":
    process = Process(json.loads(hear()))
    say(process.enclose())
    hear()
    say(process.run())
    os._exit(0)
