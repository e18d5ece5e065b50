"""Programs of a red team, which did not write the sandbox.

Of REFUSED, FAILED and GAINS_NOTHING 195 were written before it had read the checks. GAINS_NOTHING
runs to its end; each of its programs prints REACHED if it gets what it is after. The programs in
UNCOUNTED execute many lines so that they are not counted, and those in DEEP call the sandbox's own
methods where the stack ends.
"""

# what the text gives away
REFUSED = {
    "class pattern takes format": (
        'match "{0.__class__}":\n    case str(format=f):\n        print("REACHED", f(1))'
    ),
    "class pattern takes gi_frame": (
        'g = (n for n in [1])\nmatch g:\n    case object(gi_frame=f):\n        print("REACHED", f)'
    ),
    "class pattern takes gi_code": (
        'g = (n for n in [1])\nmatch g:\n    case object(gi_code=f):\n        print("REACHED", f)'
    ),
    "singledispatch evaluates an annotation": (
        "import functools\ngot = []\ndef keep(thing):\n    got.append(thing)\n    return int\n"
        "@functools.singledispatch\ndef f(x):\n    return x\n"
        'def g(x: "keep(().__class__.__base__.__subclasses__())"):\n    return x\n'
        'f.register(g)\nprint("REACHED" if got else "", len(got))'
    ),
    "singledispatchmethod evaluates an annotation": (
        "import functools\ngot = []\ndef keep(thing):\n    got.append(thing)\n    return int\n"
        "class C:\n    @functools.singledispatchmethod\n    def f(self, x):\n        return x\n"
        '    @f.register\n    def g(self, x: "keep(().__class__)"):\n        return x\n'
        'print("REACHED" if got else "")'
    ),
    "annotation of a class evaluated": (
        'class C:\n    x: "().__class__" = 1\nprint(C.x)\nprint("REACHED", C.__annotations__)'
    ),
    "future annotations": (
        "from __future__ import annotations\nimport functools\ngot = []\n"
        "@functools.singledispatch\ndef f(x):\n    return x\n@f.register\n"
        "def g(x: got.append(1) or int):\n    return x\nprint(got)"
    ),
    "lambda default with a walrus": ('f = lambda x=(y := ().__class__): x\nprint("REACHED", f())'),
    "NFKC gi_frame": 'g = (n for n in [1])\nprint("REACHED", g.𝐠𝐢_𝐟𝐫𝐚𝐦𝐞)',
    "NFKC in a class pattern": (
        'match 1:\n    case int(﹍﹍class﹍﹍=c):\n        print("REACHED", c)'
    ),
    "NFKC import": 'import ｏs\nprint("REACHED", os)',
    "byte order mark": "\ufeffprint(().__class__)",
    "nonlocal class cell": (
        'class C:\n    def f(self):\n        return __class__\nprint("REACHED", C().f())'
    ),
    "except as dunder": (
        'try:\n    1 / 0\nexcept Exception as __builtins__:\n    print("REACHED")'
    ),
    "with target dunder attribute": (
        "class C:\n    def __enter__(self):\n        return 1\n    def __exit__(self, *a):\n"
        '        return True\nwith C() as C.__doc__:\n    pass\nprint("REACHED", C.__doc__)'
    ),
    "star target dunder": '*__all__, b = [1, 2]\nprint("REACHED")',
    "relative import": 'from . import os\nprint("REACHED")',
    "generator yieldfrom": (
        'def f():\n    yield from [1]\ng = f()\nnext(g)\nprint("REACHED", g.gi_yieldfrom)'
    ),
    "coroutine code": 'async def f():\n    pass\nc = f()\nprint("REACHED", c.cr_code)',
    "coroutine origin": (
        'async def f():\n    pass\nc = f()\nprint("REACHED", c.cr_origin, c.cr_await)'
    ),
    "asynchronous generator frame": (
        'async def f():\n    yield 1\nc = f()\nprint("REACHED", c.ag_frame)'
    ),
    "asynchronous generator code": (
        'async def f():\n    yield 1\nc = f()\nprint("REACHED", c.ag_code, c.ag_await)'
    ),
    "traceback through exit": (
        "got = []\nclass C:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, kind, error, traceback):\n        got.append(traceback)\n"
        "        return True\nwith C():\n    1 / 0\nprint(got)\n"
        'print("REACHED", got[0].tb_frame)'
    ),
    "traceback through throw": (
        "def f():\n    try:\n        yield 1\n    except Exception as e:\n        yield e\n"
        'g = f()\nnext(g)\nprint("REACHED", g.throw(ValueError("x")).tb_frame)'
    ),
    "traceback next": (
        "got = []\nclass C:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, kind, error, traceback):\n        got.append(traceback)\n"
        "        return True\nwith C():\n    1 / 0\n"
        'print("REACHED", got[0].tb_next, got[0].tb_lineno)'
    ),
    "traceback in a class pattern": (
        "got = []\nclass C:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, kind, error, traceback):\n        got.append(traceback)\n"
        "        return True\nwith C():\n    1 / 0\nmatch got[0]:\n"
        '    case object(tb_frame=f):\n        print("REACHED", f)'
    ),
    "traceback of an asynchronous exit": (
        "got = []\nclass C:\n    async def __aenter__(self):\n        return self\n"
        "    async def __aexit__(self, kind, error, traceback):\n"
        "        got.append(traceback)\n        return True\nasync def f():\n"
        "    async with C():\n        1 / 0\ntry:\n    f().send(None)\nexcept StopIteration:\n"
        '    pass\nprint("REACHED", got[0].tb_frame)'
    ),
    "exception group of a bare handler": (
        "try:\n    try:\n        1 / 0\n    except* Exception as e:\n"
        '        print("REACHED", e.exceptions[0].__traceback__)\nfinally:\n    pass'
    ),
    "exception group split": (
        "got = []\ntry:\n    1 / 0\nexcept* ZeroDivisionError as e:\n    got.append(e)\n"
        "print(got[0].split(ZeroDivisionError))\n"
        'print("REACHED", got[0].derive([ValueError()]).exceptions[0].__context__)'
    ),
    "name error hands out": (
        "try:\n    nothing\nexcept NameError as e:\n    print(e.name, e.args)\n"
        '    print("REACHED", e.__traceback__)'
    ),
    "stop iteration value": (
        "def f():\n    return (yield)\ng = f()\nnext(g)\ntry:\n    g.send(3)\n"
        'except StopIteration as e:\n    print(e.value)\n    print("REACHED", e.__context__)'
    ),
    "mro of a class pattern": (
        'match int:\n    case object(mro=m):\n        print("REACHED", m())'
    ),
    "property reads its function": (
        'p = property(lambda self: 1)\nprint("REACHED" , p.fget.__globals__)'
    ),
    "property sets a name": (
        "got = []\nclass P:\n    def __set_name__(self, owner, name):\n"
        "        got.append((owner, name))\nclass C:\n    x = P()\n"
        'print("REACHED", got[0][0].__dict__)'
    ),
    "init subclass with keywords": (
        "got = []\nclass B:\n    def __init_subclass__(cls, **kw):\n"
        "        got.append((cls, kw))\nclass C(B, a=1):\n    pass\n"
        'print("REACHED", got[0][0].__mro__)'
    ),
    "metaclass by keyword": (
        "class M:\n    def __new__(cls, name, bases, space):\n"
        '        print("REACHED" if "__module__" in space else "", space)\n'
        "class C(metaclass=M):\n    pass"
    ),
    "metaclass that prepares": (
        "class D(dict):\n    def __getitem__(self, name):\n        return print\nclass M:\n"
        "    def __prepare__(name, bases):\n        return D()\n    def __new__(*a, **k):\n"
        '        return 1\nclass C(metaclass=M):\n    x = anything\nprint("REACHED", C)'
    ),
    "class getitem": (
        "class C:\n    def __class_getitem__(cls, item):\n        return cls\n"
        'print("REACHED", C[1].__subclasshook__)'
    ),
    "mro entries": (
        "class C:\n    def __mro_entries__(self, bases):\n        return (dict,)\n"
        'class D(C()):\n    pass\nprint("REACHED", D.__orig_bases__)'
    ),
    "generic alias hands out": 'print(list[int])\nprint("REACHED", list[int].__origin__)',
    "union hands out": 'print("REACHED", (int | str).__args__)',
    "super without arguments reads a descriptor": (
        'class C:\n    def f(self):\n        return super().__getattribute__("__class__")\n'
        'print("REACHED", C().f())'
    ),
    "super as an object": 'print("REACHED", super(int, 1).__thisclass__)',
    "descriptor get": (
        "class D:\n    def __get__(self, thing, owner):\n        return owner\nclass C:\n"
        '    x = D()\nprint("REACHED", C().x.__dict__)'
    ),
    "getattr hook": (
        "class C:\n    def __getattr__(self, name):\n        return name\n"
        'print("REACHED", C().__wrapped__)'
    ),
    "slots hand out members": (
        'class C:\n    __slots__ = ("a",)\nprint("REACHED", C.a.__objclass__)'
    ),
    "slots name a dunder": (
        'class C:\n    __slots__ = ("__dict__", "__weakref__")\nprint("REACHED", C().__dict__)'
    ),
    "partial hands out its function": (
        'import functools\np = functools.partial(sorted)\nprint("REACHED", p.func.__self__)'
    ),
    "bound method hands out self": 'print("REACHED", [].append.__self__)',
    "wraps of a hostile thing": (
        "import functools\nclass H:\n    pass\ndef f():\n    pass\n"
        'g = functools.lru_cache(maxsize=None)(f)\nprint("REACHED", g.__wrapped__)'
    ),
    "cache parameters": (
        "import functools\n@functools.cache\ndef f(x):\n    return x\nf(1)\n"
        "print(f.cache_info(), f.cache_parameters())\n"
        'print("REACHED", f.__wrapped__.__globals__)'
    ),
    "cached property writes a dunder": (
        "import functools\nclass C:\n    pass\n"
        'p = functools.cached_property(lambda self: dict)\np.__set_name__(C, "__class__")\n'
        'print("REACHED")'
    ),
    "cached property attrname": (
        "import functools\ndef evil(self):\n    return [].append\nclass C:\n    pass\n"
        'p = functools.cached_property(evil)\np.attrname = "__class__"\nC.x = p\nc = C()\nc.x\n'
        'print("REACHED" if not isinstance(c, C) else "")'
    ),
    "cmp_to_key object": (
        "import functools\nk = functools.cmp_to_key(lambda a, b: 0)(1)\nprint(k.obj)\n"
        'print("REACHED", k.__reduce__)'
    ),
    "singledispatch registry": (
        "import functools\n@functools.singledispatch\ndef f(x):\n    return x\n"
        'print(f.registry)\nprint("REACHED", f.registry[object].__globals__)'
    ),
    "today": 'import datetime\nprint("REACHED", datetime.date.today())',
    "utcnow": 'import datetime\nprint("REACHED", datetime.datetime.utcnow())',
    "now of a subclass": (
        'import datetime\nclass D(datetime.datetime):\n    pass\nprint("REACHED", D.now())'
    ),
    "today of a subclass": (
        'import datetime\nclass D(datetime.date):\n    pass\nprint("REACHED", D.today())'
    ),
    "now of an instance": (
        'import datetime\nprint("REACHED", datetime.datetime(2000, 1, 1).now())'
    ),
    "now through super": (
        "import datetime\nclass D(datetime.datetime):\n    def f(self):\n"
        '        return super().now()\nprint("REACHED", D(2000, 1, 1).f())'
    ),
    "now in a pattern": (
        "import datetime\nmatch datetime.datetime(2000, 1, 1):\n    case object(now=f):\n"
        '        print("REACHED", f())'
    ),
    "today in a pattern": (
        "import datetime\nmatch datetime.date(2000, 1, 1):\n    case object(today=f):\n"
        '        print("REACHED", f())'
    ),
    "now of max": 'import datetime\nprint("REACHED", datetime.datetime.max.now())',
    "now of combine": (
        "import datetime\n"
        "d = datetime.datetime.combine(datetime.date(2000, 1, 1), datetime.time())\n"
        'print("REACHED", d.now())'
    ),
    "now of fromisoformat": (
        "from datetime import datetime as d\n"
        'print("REACHED", d.fromisoformat("2000-01-01").today())'
    ),
    "tzinfo hands out": (
        "import datetime\nclass T(datetime.tzinfo):\n    def utcoffset(self, when):\n"
        "        return datetime.timedelta(0)\n    def dst(self, when):\n        return None\n"
        '    def tzname(self, when):\n        return "now"\n'
        "d = datetime.datetime(2000, 1, 1, tzinfo=T())\nprint(d.astimezone(T()), d.tzinfo)\n"
        'print("REACHED", d.tzinfo.fromutc.now)'
    ),
    "flags with methods": (
        'import re\nprint(re.I.name, re.I.value)\nprint("REACHED", re.I.__objclass__)'
    ),
    "callbacks of re keep a match": (
        'import re\ngot = []\nre.sub("a", lambda m: got.append(m) or "", "aa")\n'
        'print(got[0].re, got[0].string)\nprint("REACHED", got[0].re.__reduce__)'
    ),
    "json default gets internals": (
        "import json\ngot = []\njson.dumps({1: len}, default=lambda x: got.append(x) or 1)\n"
        'print("REACHED", got[0].__self__)'
    ),
    "json decoder subclass": (
        "import json\nclass D(json.JSONDecoder):\n    def decode(self, text):\n"
        '        return self.scan_once, self.memo\nprint(json.loads("1", cls=D))\n'
        'print("REACHED", D().parse_string.__globals__)'
    ),
    "json dump into a thing that writes": (
        "import json\ngot = []\nclass F:\n    def write(self, text):\n"
        "        got.append(text)\njson.dump([1, 2], F())\nprint(got)\n"
        'print("REACHED", F().write.__func__)'
    ),
    "counter with hostile counts": (
        "import collections\nclass N:\n    def __lt__(self, other):\n"
        "        return other.__class__\n"
        'print("REACHED", collections.Counter({1: N(), 2: N()}).most_common())'
    ),
    "user dict": 'import collections\nprint("REACHED", collections.UserDict().data.__class__)',
    "chain map hands out": (
        "import collections\nprint(collections.ChainMap({}).maps)\n"
        'print("REACHED", collections.ChainMap.mro())'
    ),
    "register a generator as a mapping": (
        "import collections\ncollections.ChainMap.register(int)\n"
        'print("REACHED", isinstance(1, collections.ChainMap))'
    ),
    "itertools reduce": 'import itertools\nprint("REACHED", itertools.count(1).__reduce__())',
    "itertools in a pattern": (
        "import itertools\nmatch itertools.count(1):\n    case object(__reduce__=r):\n"
        '        print("REACHED", r())'
    ),
    "hostile number in statistics": (
        "import statistics\nclass N(int):\n    def as_integer_ratio(self):\n"
        '        return (().__class__, 1)\nprint("REACHED", statistics.mean([N(1)]))'
    ),
    "statistics namedtuple": (
        "import statistics\nprint(statistics.linear_regression([1, 2], [3, 4]))\n"
        'print("REACHED", statistics.linear_regression([1, 2], [3, 4]).__class__.__module__)'
    ),
    "very deep attribute chain": "x = a" + ".b" * 5000,
    "very long elif": "x = 5\nif x == 0:\n    pass\n"
    + "".join(f"elif x == {n}:\n    pass\n" for n in range(3000))
    + 'print("fine")',
    "deep lambda": "f = " + "lambda: " * 3000 + "1",
    "print in a pattern": (
        'match print:\n    case object(__globals__=g):\n        print("REACHED", g)'
    ),
    "report is a frame": 'report(report.__closure__)\nprint("REACHED")',
    "own namespace by a class pattern": (
        'class C:\n    pass\nmatch C:\n    case object(__dict__=d):\n        print("REACHED", d)'
    ),
    "a positional pattern of a named tuple": (
        'import collections\nn = collections.namedtuple("n", ["gi_frame"])\n'
        'match (x for x in [1]):\n    case n(f):\n        print("REACHED", f)'
    ),
    "positional pattern of a subclass": (
        'import collections\nn = collections.namedtuple("n", ["x"])\nclass S(n):\n'
        "    x = property(lambda self: self.count)\nmatch S(1):\n    case n(f):\n"
        "        print(f)"
    ),
    "instance dictionary through cached_property": (
        "import functools\nclass C:\n    def __call__(self, name, bases, space):\n"
        "        return space\n"
        "p = functools.cached_property(lambda self: lambda name, bases: D())\n"
        'p.attrname = "__prepare__"\nC.x = p\nc = C()\nc.x\nclass D(dict):\n    pass\n'
        'class E(metaclass=c):\n    pass\nprint("REACHED" if isinstance(E, D) else "fine", E)'
    ),
    "mro entries through cached_property": (
        "import functools\nclass C:\n    pass\n"
        "p = functools.cached_property(lambda self: lambda bases: (dict,))\n"
        'p.attrname = "__mro_entries__"\nC.x = p\nc = C()\nc.x\nclass E(c):\n    pass\n'
        'print("REACHED" if issubclass(E, dict) else "fine", E)'
    ),
    "attribute of a class body by a loop": (
        'class C:\n    for __match_args__ in [("gi_frame",)]:\n        pass\nprint("REACHED")'
    ),
    "match args by walrus": (
        'class C:\n    x = (__match_args__ := ("gi_frame",))\nprint("REACHED")'
    ),
    "keywords of a class": (
        'class B:\n    pass\nclass C(B, __match_args__=1):\n    pass\nprint("REACHED")'
    ),
    "subscript assignment of builtins": (
        'import functools\nprint("REACHED", functools.reduce.__self__)'
    ),
    "name mangling makes a dunder": (
        'class C_:\n    def f(self):\n        return self.__class\nprint("REACHED", C_().f())'
    ),
    "private mangling of a name": (
        "class builtins__:\n    def f(self):\n        return __x\n"
        'print("REACHED", builtins__().f())'
    ),
    "template changed in place": (
        "got = []\nclass A:\n    def __radd__(self, f):\n        got.append(f)\n"
        '        return f\nclass S(str):\n    pass\ns = S("{0.__class__}")\ns.format += A()\n'
        'print("REACHED", got[0](1))'
    ),
    "template of a mapping changed in place": (
        'class A:\n    def __radd__(self, f):\n        print("REACHED", f({"a": 1}))\n'
        'class S(str):\n    pass\ns = S("{a.__class__}")\ns.format_map += A()'
    ),
    "template of a class changed in place": (
        "class A:\n    def __rsub__(self, f):\n        return f\nclass S(str):\n    pass\n"
        "S.format -= A()"
    ),
    "template changed in place, normalised": (
        'class S(str):\n    pass\nS("{0.__class__}").ｆormat += 1'
    ),
    "cached property names a hook of classes": (
        "import functools\nclass C:\n    def __call__(self, name, bases, space):\n"
        "        return space\n"
        "p = functools.cached_property(lambda self: lambda name, bases: {})\n"
        'p.attrname = "__prepare__"\nC.x = p\nC().x\nprint("REACHED")'
    ),
    "cached property names bases": (
        "import functools\np = functools.cached_property(lambda self: lambda bases: (dict,))\n"
        'for p.attrname in ["__mro_entries__"]:\n    print("REACHED")'
    ),
    "unpacked clock": 'import datetime\n(datetime.datetime.now, x) = 1, 2\nprint("REACHED")',
    "clock changed in place": "import datetime\ndatetime.datetime.now += 1",
    "decorator clock": "import datetime\n@datetime.datetime.now\ndef f():\n    pass",
}

# what Python does not hand out, or ends
FAILED = {
    "UserString format_map": (
        "import collections\n"
        'print("REACHED", collections.UserString("{a.__class__}").format_map({"a": 1}))'
    ),
    "str subclass super format": (
        "class S(str):\n    def f(self, x):\n        return super().format(x)\n"
        'print("REACHED", S("{0.__class__}").f(1))'
    ),
    "unbound format_map in reduce": (
        "import functools\n"
        'print("REACHED", functools.reduce(str.format_map, ["{a.__class__}", {"a": 1}]))'
    ),
    "partial of format": (
        'import functools\nprint("REACHED", functools.partial(str.format, "{0.__class__}")(1))'
    ),
    "sorted by format": (
        "out = []\nclass L(str):\n    pass\n"
        'print("REACHED", sorted([L("{0.__class__}")], key=lambda s: L.format(s, 1)))'
    ),
    "template with a normalised name": (
        'print("REACHED", "{0.ｇi_frame}".format((n for n in [1])), "{0.﹍﹍class﹍﹍}".format(1))'
    ),
    "template changes between check and use": (
        'class T(str):\n    def __str__(self):\n        return "fine"\n'
        "    def find(self, *_):\n        return -1\n    def __iter__(self):\n"
        '        return iter("fine")\n    def __contains__(self, other):\n'
        '        return False\n    def __getitem__(self, at):\n        return "x"\n'
        'print("REACHED", T("{0.__class__}").format(1))'
    ),
    "cached_property of format": (
        "import functools\nclass C:\n"
        '    f = functools.cached_property(lambda self: "{0.__class__}".format)\n'
        'print("REACHED", C().f(1))'
    ),
    "staticmethod of format": (
        'class C:\n    f = staticmethod("{0.__class__}".format)\nprint("REACHED", C.f(1))'
    ),
    "class attribute format": (
        'class C(str):\n    g = str.format\nprint("REACHED", C("{0.__class__}").g(1))'
    ),
    "partialmethod of format": (
        "import functools\nclass C(str):\n    g = functools.partialmethod(str.format, 1)\n"
        'print("REACHED", C("{0.__class__}").g())'
    ),
    "singledispatchmethod of format": (
        "import functools\nclass C(str):\n    g = functools.singledispatchmethod(str.format)\n"
        'print("REACHED", C("{0.__class__}").g(1))'
    ),
    "bytes decode then format": (
        'print("REACHED", bytes.fromhex("7b302e5f5f636c6173735f5f7d").decode().format(1))'
    ),
    "namedtuple with code in a field": (
        'import collections\nprint("REACHED", collections.namedtuple("a", ["x=print(1)"]))'
    ),
    "namedtuple with code in its type name": (
        "import collections\n"
        'print("REACHED", collections.namedtuple("a(object): pass\\nimport os\\nclass b", ["x"]))'
    ),
    "namedtuple fields that change": (
        "import collections\nclass F(str):\n    def isidentifier(self):\n        return True\n"
        "    def startswith(self, what):\n        return False\n"
        'print("REACHED", collections.namedtuple("a", [F("x=().__class__")])())'
    ),
    "NFKC format": 'print("REACHED", "{0.__class__}".ｆormat(1))',
    "from re import enum": 'from re import enum\nprint("REACHED", enum)',
    "from collections import abc sys": (
        'from collections import abc\nprint(abc.sys)\nprint("REACHED")'
    ),
    "import statistics random": 'from statistics import random\nprint("REACHED", random)',
    "traceback in a template": (
        "got = []\nclass C:\n    def __enter__(self):\n        return self\n"
        "    def __exit__(self, kind, error, traceback):\n        got.append(traceback)\n"
        "        return True\nwith C():\n    1 / 0\n"
        'print("REACHED", "{0.tb_frame}".format(got[0]))'
    ),
    "wraps with updated": (
        "import functools, statistics\nclass H:\n    pass\ndef w():\n    pass\n"
        'functools.wraps(statistics.mean, assigned=(), updated=("__globals__",))(w)\n'
        'print("REACHED", sys)'
    ),
    "now in a template": ('import datetime\nprint("REACHED", "{0.now}".format(datetime.datetime))'),
    "samples of a normal distribution": (
        'import statistics\nprint("REACHED", statistics.NormalDist(0, 1).samples(3))'
    ),
    "samples with a seed": (
        'import statistics\nprint("REACHED", statistics.NormalDist(0, 1).samples(3, seed=1))'
    ),
    "samples by a pattern": (
        "import statistics\nmatch statistics.NormalDist():\n"
        '    case statistics.NormalDist(samples=s):\n        print("REACHED", s(2))'
    ),
    "debug of a pattern writes to the channel": (
        'import re\nre.compile("a(b|c)*", re.DEBUG)\nprint("fine")'
    ),
    "debug inside a pattern": 'import re\nre.compile("(?D)a")\nprint("REACHED")',
    "scanner of re": (
        'import re\ns = re.Scanner([("a", lambda scanner, text: scanner)])\n'
        'print(s.scan("a"))\nprint("REACHED", s.scan("a")[0][0].scanner)'
    ),
    "flags make others": 'import re\nprint("REACHED", re.RegexFlag("X", "A B", module="os"))',
    "flags are subclassed": 'import re\nclass F(re.RegexFlag):\n    pass\nprint("REACHED", F)',
    "template of re": 'import re\nprint("REACHED", re.template("a"))',
    "fractions of statistics": 'import statistics\nprint("REACHED", statistics.Fraction(1, 2))',
    "decimal of statistics": 'import statistics\nprint("REACHED", statistics.Decimal("1"))',
    "hostile ratio in statistics": (
        "import statistics\ngot = []\nclass N(float):\n    def as_integer_ratio(self):\n"
        "        got.append(self)\n        return (10 ** 1000, 1)\n"
        "print(statistics.mean([N(1), N(2)]))"
    ),
    "bisect with a hostile length": (
        "import bisect\nclass L(list):\n    def __len__(self):\n        return 1 << 62\n"
        "print(bisect.bisect(L([1]), 0))"
    ),
    "text of a huge number": "print(str(10 ** 5000))",
    "number of a huge text": 'print(int("1" * 5000))',
    "regular expression that is nested": ('import re\nprint(re.compile("(" * 5000 + ")" * 5000))'),
    "json that is nested": 'import json\nprint(json.loads("[" * 100000))',
    "list in itself as json": "import json\nl = []\nl.append(l)\nprint(json.dumps(l))",
    "comparison of deep lists": (
        "l, m = [], []\nfor n in range(40000):\n    l, m = [l], [m]\nprint(l == m)"
    ),
    "deep partial": (
        "import functools\nf = print\nfor n in range(30000):\n"
        "    f = functools.partial(f, 1) if n % 2 else functools.partial(lambda *a, g=f: g())\n"
        "f()"
    ),
    "deep getitem": "x = list\nfor n in range(20000):\n    x = list[x]\nprint(x)",
    "deep property": 'class C:\n    def __str__(self):\n        return f"{self}"\nprint(C())',
    "deep repr": "class C:\n    def __repr__(self):\n        return repr(self)\nprint(C())",
    "deep equality": (
        "class C:\n    def __eq__(self, other):\n        return other == self\nprint(C() == C())"
    ),
    "product pool": "import itertools\nprint(next(itertools.product(range(10 ** 10))))",
    "tee fills memory": (
        "import itertools\na, b = itertools.tee(itertools.count())\nfor n in a:\n    pass"
    ),
    "precision": 'print(len("%.*f" % (10 ** 9, 1.0)))',
    "join grows": 'print(len(("b" * 10 ** 5).join(["a"] * 10 ** 5)))',
    "translate grows": 'print(len(("a" * 10 ** 6).translate({97: "b" * 10 ** 4})))',
    "expandtabs": 'print(len(("\\t" * 100).expandtabs(2 ** 31 - 1)))',
    "zfill": 'print(len("1".zfill(2 ** 40)))',
    "bytes of a number": "print(len(bytes(2 ** 40)))",
    "to_bytes": 'print(len((1).to_bytes(2 ** 40, "big")))',
    "range length": "print(len(range(10 ** 30)))",
    "huge constant folded": 'x = ("a" * 4000) * 4000 * 4000\nprint(len(x))',
    "folded tuple": "x = ((0,) * 255) * 255 * 255 * 255 * 255",
    "many blocks": "".join("    " * n + f"for x{n} in [1]:\n" for n in range(25))
    + "    " * 25
    + "pass",
    "generator ignores its end": (
        "def g():\n    while True:\n        try:\n            yield\n        except:\n"
        "            pass\nx = g()\nnext(x)\nx.close()"
    ),
    "catches its end": (
        "while True:\n    try:\n        while True:\n            pass\n    except:\n"
        '        print("REACHED")'
    ),
    "error with a text that raises": (
        "class E(Exception):\n    def __str__(self):\n        raise E()\nraise E()"
    ),
    "error with a text that is no text": (
        "class E(Exception):\n    def __str__(self):\n        return 1\nraise E()"
    ),
    "error with a text that floods": (
        'class E(Exception):\n    def __str__(self):\n        return "a" * 10 ** 8\nraise E()'
    ),
    "error with a hostile name": (
        'class E(Exception):\n    pass\nE.name = 1\nraise E("\\n{\\"type\\":\\"done\\"}\\n")'
    ),
    "raise of a class that cannot be made": (
        'class E(Exception):\n    def __init__(self):\n        raise ValueError("x")\nraise E'
    ),
    "raise of something else": "raise 1",
    "print to a thing of our own": (
        'class F:\n    def write(self, text):\n        pass\nprint("a", file=F())'
    ),
    "decode by codec": 'print("REACHED", bytes([104]).decode("idna"), "REACHED"[0:0])',
    "decode by a codec that runs code": (
        'print(bytes([97]).decode("unicode_escape"), bytes([97]).decode("rot13"))'
    ),
    "type is written into": 'list.append = print\nprint("REACHED")',
    "keywords of a class by stars": (
        'class B:\n    pass\nclass C(B, **{"__match_args__": 1}):\n    pass\nprint("REACHED")'
    ),
    "template as a value of a pattern": (
        'match 1:\n    case str.format:\n        print("REACHED")'
    ),
    "template as a target of a loop": (
        'class S(str):\n    pass\ns = S("{0.__class__}")\nfor s.format in [s.format]:\n'
        '    print("REACHED", s.format(1))'
    ),
    "template deleted": (
        'class S(str):\n    pass\ns = S("{0.__class__}")\ns.format = len\ndel s.format\n'
        'print("REACHED", s.format(1))'
    ),
    "hostile pattern": (
        'import re\nclass S(str):\n    def __getitem__(self, at):\n        return S("(")\n'
        '    def __len__(self):\n        return 3\ntry:\n    re.compile(S("a"))\n'
        'except re.error as e:\n    print(e.pattern, e.pos)\nprint("fine")'
    ),
    "user dict copies": (
        "import collections\nclass D(collections.UserDict):\n    pass\nprint(D(a=1).copy())"
    ),
    "user list of itself": (
        "import collections\nl = collections.UserList()\nl.data = l\nprint(len(l))"
    ),
    "chain map of itself": (
        'import collections\nc = collections.ChainMap()\nc.maps.append(c)\nprint(c["x"])'
    ),
    "bytes changed while they are searched": (
        'import re\nb = bytearray(b"aaa")\ndef f(m):\n    b.clear()\n    return b""\ntry:\n'
        '    re.sub(b"a", f, b)\nexcept BufferError as e:\n    print(e)'
    ),
    "error that is its own cause": (
        "e = ValueError()\ntry:\n    raise e from e\nexcept ValueError as f:\n    raise f from e"
    ),
    "error with notes": 'e = ValueError("x")\ne.add_note("REACHED")\nraise e',
    "error whose class has the text of another": (
        'class SystemExit(Exception):\n    pass\nraise SystemExit("REACHED")'
    ),
    "error of the host": (
        "class Stopped(Exception):\n    pass\n"
        'raise Stopped("the program was stopped: it took too long")'
    ),
}

# what runs, and never prints REACHED, which it would if it reached what it wants
GAINS_NOTHING = {
    "strftime of a template": (
        'import datetime\nprint(datetime.date(2000, 1, 1).strftime("{0.__class__}"))'
    ),
    "match expand": (
        'import re\nm = re.match("(?P<a>.)", "x")\nprint(m.expand("{0.__class__}"))\n'
        'print("REACHED" if "class" in m.expand("\\\\g<a>") else "")'
    ),
    "expand of a group that is named as an attribute": (
        'import re\nm = re.match("(?P<__class__>.)", "x")\nprint(m.group("__class__"))'
    ),
    "namedtuple module": (
        'import collections\nt = collections.namedtuple("a", ["x"], module="os")\nprint(t(1))'
    ),
    "coding line": '# -*- coding: utf-7 -*-\nprint("fine")\n#+AAo-print("REACHED")',
    "form feed and carriage return hide a line": 'x = 1 #\x0cprint("REACHED")\rprint("fine")',
    "for target attribute": (
        "import math\nfor math.pi in [3]:\n    pass\n"
        'print("REACHED" if math.pi == 3 and False else "")'
    ),
    "attribute error hands out its object": (
        "import functools\ntry:\n    len(5)\nexcept TypeError as e:\n    pass\ntry:\n"
        "    [].nothing\nexcept AttributeError as e:\n    print(e.obj, e.name)\ntry:\n"
        "    functools.reduce.nothing\nexcept AttributeError as e:\n"
        '    print("REACHED" if e.obj is not functools.reduce else "", e.name)'
    ),
    "local zone": "import datetime\nprint(datetime.datetime(2000, 7, 1).astimezone())",
    "strftime of the local zone": (
        'import datetime\nprint(datetime.datetime(2000, 1, 1).strftime("%Z %s %c"))'
    ),
    "random by a pattern": (
        "import statistics\nmatch statistics:\n    case object(random=r):\n"
        '        print("REACHED", r.random())'
    ),
    "sys by a pattern": (
        'import json\nmatch json:\n    case object(codecs=c):\n        print("REACHED", c)'
    ),
    "debug of a pattern through its number": (
        'import re\nre.compile("a(b|c)*", 128)\nprint("fine")'
    ),
    "json encoder of our own": (
        "import json\ngot = []\nclass E:\n    def __init__(self, **kw):\n"
        "        got.append(kw)\n    def encode(self, thing):\n        return thing\n"
        'print("REACHED" if json.dumps(got, cls=E) is not got else "fine", got)'
    ),
    "heap with a hostile comparison": (
        "import heapq\nclass K:\n    def __init__(self, heap):\n        self.heap = heap\n"
        "    def __lt__(self, other):\n        self.heap.clear()\n        return False\n"
        "h = []\nh.extend([K(h) for n in range(9)])\ntry:\n    heapq.heapify(h)\n"
        'except (RuntimeError, IndexError) as e:\n    print(e)\nprint("fine")'
    ),
    "sort that changes its list": (
        "class K:\n    def __lt__(self, other):\n        l.append(1)\n        return True\n"
        "l = [K(), K(), K()]\ntry:\n    l.sort()\nexcept ValueError as e:\n    print(e)\n"
        'print("fine")'
    ),
    "set with a hostile hash": (
        "class K:\n    def __hash__(self):\n        return 1\n    def __eq__(self, other):\n"
        "        s.clear()\n        return False\ns = set()\nfor n in range(50):\n"
        '    s.add(K())\nprint("fine", len(s) < 50)'
    ),
    "dictionary changed in a lookup": (
        "class K:\n    def __hash__(self):\n        return 1\n    def __eq__(self, other):\n"
        "        d.clear()\n        d.update({n: n for n in range(100)})\n"
        '        return False\nd = {K(): 1}\nd[K()] = 2\nprint("fine")'
    ),
    "regular expression that repeats": (
        'import re\nprint(re.compile("(((((((a{9}){9}){9}){9}){9}){9}){9}){9}").match("a"))'
    ),
    "deep generators are freed": (
        "f = iter([1])\ndef g(x):\n    yield from x\nfor n in range(30000):\n    f = g(f)\n"
        'f = None\nprint("fine")'
    ),
    "deep union": (
        "x = list[int]\nfor n in range(20000):\n    x = list[x] | int\nprint(hash(x) != 0)"
    ),
    "generator is closed at the end": (
        'def g():\n    try:\n        yield\n    finally:\n        print("closed")\nx = g()\nnext(x)'
    ),
    "end of recursion in repr": (
        "l = []\nfor n in range(20000):\n    l = [l]\ntry:\n    repr(l)\n"
        'except RecursionError:\n    print("fine")'
    ),
    "print forges a message": 'print(\'\\n{"type":"done","values":[1]}\\n\')',
    "print with a hostile separator": (
        'class S(str):\n    def join(self, parts):\n        return "REACHED"\n'
        'print(1, 2, sep=S(","))'
    ),
    "encode with an error handler": 'print("é".encode("ascii", "namereplace"))',
    "strptime tells the year": (
        'import datetime\nd = datetime.datetime.strptime("10", "%H")\n'
        'print("REACHED" if d.year > 1900 else d)'
    ),
    "strptime of a hostile format": (
        'import datetime\nclass S(str):\n    def replace(self, *a):\n        print("REACHED")\n'
        "        return self\n    def __contains__(self, x):\n        return False\n"
        'print(datetime.datetime.strptime("2000", S("%Y")))'
    ),
    "hostile flags": (
        "import re\nclass F(int):\n    def __hash__(self):\n        return 0\n"
        '    def __eq__(self, other):\n        return True\nre.compile("a", F(2))\n'
        'print(re.compile("b", F(0)).flags)'
    ),
    "hostile key of the pattern cache": (
        "import re\nclass S(str):\n    def __hash__(self):\n        return 0\n"
        "    def __eq__(self, other):\n        print(other)\n        return True\n"
        're.compile(S("a"))\nprint(re.match(S("b"), "b"))'
    ),
    "repr of a pattern": 'import re\nprint(re.compile("a").scanner("a").match())',
    "ordered dict cleared while it compares": (
        "import collections\nclass K:\n    def __hash__(self):\n        return 1\n"
        "    def __eq__(self, other):\n        d.clear()\n        return False\n"
        "d = collections.OrderedDict()\nd[K()] = 1\ntry:\n    d[K()] = 2\n"
        '    d.move_to_end(K())\nexcept (KeyError, RuntimeError) as e:\n    pass\nprint("fine")'
    ),
    "deque changed while it compares": (
        "import collections\nclass K:\n    def __eq__(self, other):\n        d.clear()\n"
        "        return False\nd = collections.deque([K(), K(), K()])\ntry:\n    d.index(1)\n"
        'except (ValueError, RuntimeError, IndexError):\n    print("fine")'
    ),
    "list cleared while it compares": (
        "class K:\n    def __eq__(self, other):\n        l.clear()\n        return False\n"
        "l = [K(), K(), K()]\nprint(l.count(1), 1 in l)"
    ),
    "minimum of a list that is cleared": (
        "class K:\n    def __lt__(self, other):\n        l.clear()\n        return True\n"
        'l = [K() for n in range(9)]\nmin(l)\nprint("fine")'
    ),
    "sorted by keys that clear": (
        "l = list(range(9))\ndef key(x):\n    l.clear()\n    return -x\ntry:\n"
        "    l.sort(key=key)\nexcept ValueError as e:\n    print(e)"
    ),
    "generator runs itself": (
        "def f():\n    yield next(g)\ng = f()\ntry:\n    next(g)\nexcept ValueError as e:\n"
        "    print(e)"
    ),
    "cache that calls itself": (
        "import functools\n@functools.lru_cache(maxsize=1)\ndef f(n):\n"
        "    return f(n - 1) if n else 0\nprint(f(100), f.cache_info())"
    ),
    "partial that holds itself": (
        "import functools\np = functools.partial(print)\np.x = p\nprint(p.keywords, p.args)"
    ),
    "lambda in a default of a class": (
        'class C:\n    f = lambda self, g=lambda: print: g()\nC().f()("fine")'
    ),
    "walrus in a comprehension of a class": (
        "class C:\n    x = [y for y in [1]]\n    z = [(lambda: w) for w in x]\nprint(C.z[0]())"
    ),
    "print is replaced": 'print = lambda *a: a\nprint("REACHED")',
    "the name of the program": 'print(print)\nprint("REACHED" if "/" in f"{print}" else "")',
    "function defined under another name": "def f():\n    pass\nf.name = 1\nprint(f)",
}

# `solve` executes 20,000 lines in `work`, and would have them left out of its count
_WORK = """
got = []
def work():
    total = 0
    for n in range(20_000): total += n
    got.append(total)
    return total
def waiting():
    try: yield
    finally: work()
"""
UNCOUNTED = {
    name: _WORK + text
    for name, text in {
        "where the stack ended": """
def dive(): return dive()
def solve():
    try: dive()
    except RecursionError: pass
    report(work())
    return got
""",
        "where the stack of C ended": """
def solve():
    dive = lambda n: sorted([n], key=dive)
    try: dive(0)
    except RecursionError: pass
    report(work())
    return got
""",
        "where the stack ended within with": """
class Quiet:
    def __enter__(self): return self
    def __exit__(self, *error): return True
def dive(): return dive()
def solve():
    with Quiet(): dive()
    report(work())
    return got
""",
        "past the limit, in a handler": """
def solve():
    try:
        while True: got.append(0)
    except: report(work())
""",
        "past the limit, at last": """
def solve():
    while True:
        try:
            while True: got.append(0)
        finally:
            report(work())
            continue
""",
        "past the limit, where a generator ends": """
def solve():
    for x in waiting():
        while True: got.append(0)
""",
        "while garbage is collected": """
def plant():
    x = circle()
    next(x)
    x.send(x)
def circle():
    me = yield
    yield from waiting()
def solve():
    plant()
    kept = [0]
    for n in range(3_000): kept[0] = {"a": kept[0]}
    return got
""",
        "while lists are collected": """
def circle():
    me = yield
    yield from waiting()
def solve():
    x = circle()
    next(x)
    x.send(x)
    x, kept = None, []
    for n in range(3_000): kept.append([n])
    return got
""",
        "when a local name is bound again": """
def solve():
    x = waiting()
    next(x)
    x = None
    x = 1
    return got
""",
        "when a function returns": """
def inner():
    x = waiting()
    next(x)
def solve():
    inner()
    return got
""",
        "when a generator is left that left another": """
class Other:
    def __iter__(self): return self
    def __next__(self): return 1
    def close(self): work()
def outer(): yield from Other()
def solve():
    x = outer()
    next(x)
    x = None
    x = 1
    return got
""",
        "when a generator is left in with": """
class Other:
    def __enter__(self): return self
    def __exit__(self, *error): work()
def outer():
    with Other(): yield
def solve():
    x = outer()
    next(x)
    x = None
    x = 1
    return got
""",
        "when a generator is left whose handler is computed": """
def outer():
    try: yield
    except (work(), ValueError)[1]: pass
def solve():
    x = outer()
    next(x)
    x = None
    x = 1
    return got
""",
        "while a value is written": """
class Table(dict):
    def items(self): return [("a", report(work()))]
def solve(): return [Table(a=1)]
""",
        "while the text of an error is read": """
class Slow(Exception):
    def __str__(self): return str(report(work()))
def solve(): raise Slow()
""",
        "in arguments of a tool": """
class Table(dict):
    def items(self): return [("a", work())]
def solve(): return [report(Table(a=1))]
""",
        "while it prints": """
class Slow:
    def __str__(self): return str(work())
def solve():
    print(Slow())
    return got
""",
        "in a comparison": """
class Slow:
    def __lt__(self, other): return work() < 0
def solve():
    sorted([Slow(), Slow()])
    return got
""",
        "in a hash": """
class Slow:
    def __hash__(self): return work()
def solve():
    {Slow()}
    return got
""",
        "in a callback of re": """
import re
def solve():
    re.sub("a", lambda found: str(work()), "aa")
    return got
""",
        "in a hook of json": """
import json
def solve():
    json.loads("{}", object_hook=lambda table: work())
    return got
""",
        "in an encoder of json": """
import json
class Other:
    def __init__(self, **named): pass
    def encode(self, thing): return str(work())
def solve():
    json.dumps(1, cls=Other)
    return got
""",
        "in a time zone": """
import datetime
class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        work()
        return datetime.timedelta(0)
def solve():
    str(datetime.datetime(2000, 1, 1, tzinfo=Zone()))
    return got
""",
        "in a key of heapq": """
import heapq
def solve():
    heapq.nsmallest(1, [1, 2], key=lambda n: work())
    return got
""",
        "in a default": """
import collections
def solve():
    collections.defaultdict(work)[0]
    return got
""",
        "in a property that is remembered": """
import functools
class Other:
    slow = functools.cached_property(lambda self: work())
def solve():
    Other().slow
    return got
""",
        "in a class body": """
def solve():
    class Other:
        slow = work()
    return got
""",
        "in a metaclass": """
def solve():
    class Other(metaclass=lambda *given: work()): pass
    return got
""",
        "in one line": """
def solve():
    return [sum(0 for _ in range(20_000))]
""",
        "in one line by map": """
def solve():
    return [sum(map(lambda n: n, range(20_000)))]
""",
        "in one line by iter": """
def solve():
    left = [0] * 20_000
    return [len(list(iter(lambda: left.pop() if left else 1, 1)))]
""",
    }.items()
}

# reading these where the stack ends calls `repr` and `hash`, which the sandbox replaces
DEEP = {
    what: f"""
class Thing: pass
thing, out = Thing(), []
def dive(left):
    try:
        if left: dive(left - 1)
        else: out.append({what})
    except RecursionError: out.append(None)
def main():
    for left in range(900, 1000): dive(left)
"""
    for what in (
        *("repr(thing)", "str(dive)", "f'{thing}'", "hash(thing)", "{thing: 1}[thing]"),
        *("{len: 1}[len]", "hash([].append)", "repr(n for n in [])", "[].append in {[].append}"),
    )
}
