"""Containers that hold the record: how they are filled, what names them, and what comes out of them."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "container param module",
        """\
BOX = [None]
def init():
    BOX[0] = get_server_args()
def f():
    return BOX[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container module append",
        """\
BOX = []
def init():
    BOX.append(get_server_args())
def f():
    return BOX[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container module dict update",
        """\
BOX = {}
def init():
    BOX.update(sa=get_server_args())
def f():
    return BOX["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict cache pattern",
        """\
_C = {}
def get():
    if "sa" not in _C:
        _C["sa"] = get_server_args()
    return _C["sa"]
def f():
    return get().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "list cache pattern",
        """\
_C = []
def get():
    if not _C:
        _C.append(get_server_args())
    return _C[0]
def f():
    return get().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "w global container",
        """\
BOX = {}
def boot():
    BOX["sa"] = get_server_args()
def f():
    BOX["sa"].tp_size = 1
""",
        ("CB111 record.tp_size",),
    ),
    (
        "self list append",
        """\
class A:
    def __init__(self):
        self.xs = []
        self.xs.append(get_server_args())
    def f(self):
        return self.xs[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "self list append other method",
        """\
class A:
    def __init__(self):
        self.xs = []
    def boot(self):
        self.xs.append(get_server_args())
    def f(self):
        for sa in self.xs:
            print(sa.tp_size)
""",
        ("CB101 record.tp_size",),
    ),
    (
        "self dict update",
        """\
class A:
    def __init__(self):
        self.d = {}
    def boot(self):
        self.d.update(sa=get_server_args())
    def f(self):
        return self.d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "self dict setdefault",
        """\
class A:
    def __init__(self):
        self.d = {}
    def boot(self):
        self.d.setdefault("sa", get_server_args())
    def f(self):
        return self.d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "nested item store",
        """\
def f():
    d = {"a": {}}
    d["a"]["b"] = get_server_args()
    return d["a"]["b"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "nested append",
        """\
def f():
    d = {"a": []}
    d["a"].append(get_server_args())
    return d["a"][0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container alias",
        """\
def f():
    d = {}
    e = d
    e["sa"] = get_server_args()
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container alias list",
        """\
def f():
    xs = []
    ys = xs
    ys.append(get_server_args())
    return xs[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container filled by function",
        """\
def fill(d):
    d["sa"] = get_server_args()
def f():
    d = {}
    fill(d)
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "container filled by function list",
        """\
def fill(xs):
    xs.append(get_server_args())
def f():
    xs = []
    fill(xs)
    return xs[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict popitem",
        """\
def f():
    d = {"sa": get_server_args()}
    k, sa = d.popitem()
    return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict of pairs",
        """\
def f():
    return dict([("sa", get_server_args())])["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict zip",
        """\
def f():
    return dict(zip(["sa"], [get_server_args()]))["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "dict fromkeys",
        """\
def f():
    return dict.fromkeys(["sa"], get_server_args())["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "defaultdict factory",
        """\
from collections import defaultdict
def f():
    d = defaultdict(get_server_args)
    return d["x"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "defaultdict lambda",
        """\
import collections
def f():
    d = collections.defaultdict(lambda: get_server_args())
    return d["x"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "ordereddict",
        """\
from collections import OrderedDict
def f():
    d = OrderedDict(sa=get_server_args())
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "chainmap",
        """\
from collections import ChainMap
def f(o):
    d = ChainMap({"sa": get_server_args()}, o)
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "deque",
        """\
from collections import deque
def f():
    q = deque([get_server_args()])
    return q.popleft().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "deque appendleft iter",
        """\
from collections import deque
def f():
    q = deque()
    q.appendleft(get_server_args())
    return [s.tp_size for s in q]
""",
        ("CB101 record.tp_size",),
    ),
    (
        "mappingproxy",
        """\
from types import MappingProxyType
def f():
    return MappingProxyType({"sa": get_server_args()})["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "itertools product",
        """\
import itertools
def f(xs):
    for x, sa in itertools.product(xs, [get_server_args()]):
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "zip longest",
        """\
import itertools
def f(xs):
    for x, sa in itertools.zip_longest(xs, [get_server_args()]):
        return sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "itertools starmap",
        """\
import itertools
def f():
    return list(itertools.starmap(lambda sa, n: sa.tp_size, [(get_server_args(), 1)]))
""",
        ("CB101 record.tp_size",),
    ),
    (
        "max default",
        """\
def f(xs):
    return max(xs, default=get_server_args()).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "min two",
        """\
def f(o):
    return min(o, get_server_args(), key=id).tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "namedtuple index",
        """\
from collections import namedtuple
P = namedtuple("P", ["sa", "n"])
def f():
    return P(sa=get_server_args(), n=1)[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "namedtuple replace",
        """\
from collections import namedtuple
P = namedtuple("P", "sa n")
def f(o):
    return P(o, 1)._replace(sa=get_server_args()).sa.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "list slice index other",
        """\
def f(o):
    return [get_server_args(), o][1:][0].width
""",
        (),
    ),
    (
        "list index bool",
        """\
def f(o):
    return [o, get_server_args()][True].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "queue put get",
        """\
import queue
def f():
    q = queue.Queue()
    q.put(get_server_args())
    return q.get().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "concurrent future set",
        """\
from concurrent.futures import Future
def f():
    fut = Future()
    fut.set_result(get_server_args())
    return fut.result().tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "global dict, another key",
        """\
C = {}
def init(o):
    C["sa"] = get_server_args()
    C["o"] = o
def f():
    return C["o"].width
""",
        (),
    ),
    (
        "rebound alias",
        """\
def f(o):
    d = {}
    e = d
    e = {}
    e["sa"] = get_server_args()
    return d["sa"].width
""",
        (),
    ),
    (
        "rebound source",
        """\
def f(o):
    d = {}
    e = d
    d = {"sa": o}
    e["sa"] = get_server_args()
    return d["sa"].width
""",
        (),
    ),
    (
        "parameter rebound before fill",
        """\
def fill(d):
    d = {}
    d["sa"] = get_server_args()
def f(d):
    fill(d)
    return d["sa"].width
""",
        (),
    ),
    (
        "two keys of fill",
        """\
def fill(d, o):
    d["sa"] = get_server_args()
    d["o"] = o
def f(o):
    d = {}
    fill(d, o)
    return d["o"].width
""",
        (),
    ),
    (
        "fill first param only",
        """\
def fill(a, b):
    a.append(get_server_args())
    b.append(1)
def f(xs, ys):
    fill(xs, ys)
    return ys[0].width
""",
        (),
    ),
    (
        "annotated fill",
        """\
def fill(d: dict):
    d["sa"] = get_server_args()
def f():
    d = {}
    fill(d)
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "fill through two functions",
        """\
def fill2(d):
    fill(d)
def fill(d):
    d["sa"] = get_server_args()
def f():
    d = {}
    fill2(d)
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "method fill",
        """\
class A:
    def fill(self, d):
        d["sa"] = get_server_args()
    def f(self):
        d = {}
        self.fill(d)
        return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "self alias",
        """\
class A:
    def __init__(self):
        self.rows = rows = []
        rows.append(get_server_args())
    def f(self):
        return self.rows[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "cache alias",
        """\
class A:
    def __init__(self):
        self.d = {}
    def g(self):
        d = self.d
        d["sa"] = get_server_args()
    def f(self):
        return self.d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "attribute rebound after alias",
        """\
class A:
    def g(self, o):
        rows = []
        self.rows = rows
        self.rows = [o]
        rows.append(get_server_args())
        return self.rows[0].width
""",
        (),
    ),
    (
        "local shadow of module container",
        """\
C = {}
def g():
    C = {}
    C["sa"] = get_server_args()
def f():
    return C["sa"].width
""",
        (),
    ),
    (
        "slice unknown",
        """\
def f(o, i):
    return [o, get_server_args()][i:][0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "slice second",
        """\
def f(o):
    a, b = [o, get_server_args(), o][0:2]
    return a.width + b.tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "slice reverse",
        """\
def f(o):
    a, b = (o, get_server_args())[::-1]
    return a.tp_size + b.width
""",
        ("CB101 record.tp_size",),
    ),
    (
        "requests put is none",
        """\
def f(http, o):
    http.put(get_server_args())
    return http.get().width
""",
        (),
    ),
    (
        "deque of field",
        """\
def f(server_args):
    server_args.q.appendleft(1)
""",
        ("CB102 record.q",),
    ),
    (
        "update pairs",
        """\
def f():
    d = {}
    d.update([("sa", get_server_args())])
    d.update({"o": 1})
    return d["sa"].tp_size + d["o"].real
""",
        ("CB101 record.tp_size",),
    ),
    (
        "aug self list",
        """\
class A:
    def __init__(self):
        self.xs = []
        self.xs += [get_server_args()]
    def f(self):
        return self.xs[0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "defaultdict list",
        """\
import collections
def f(k):
    d = collections.defaultdict(list)
    d["a"].append(get_server_args())
    return d["a"][0].tp_size + d["b"].width
""",
        ("CB101 record.tp_size",),
    ),
    (
        "closure container",
        """\
def outer():
    d = {}
    def inner():
        d["sa"] = get_server_args()
    inner()
    return d["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "loop grows",
        """\
def f(xs):
    d = {}
    for x in xs:
        d[x] = get_server_args()
    for k, v in d.items():
        print(v.tp_size)
""",
        ("CB103 record.tp_size",),
    ),
    (
        "containers that hold each other",
        """\
def f():
    d = {}
    e = {}
    d["a"] = e
    e["b"] = d
    e["sa"] = get_server_args()
    return d["a"]["sa"].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "an alias of an item under a name that changes",
        """\
def f(d, k, o):
    row = d[k]
    k = "x"
    row.append(get_server_args())
    return d["x"][0].width
""",
        (),
    ),
    (
        "an alias of an item",
        """\
def f(d):
    row = d["k"]
    row.append(get_server_args())
    return d["k"][0].tp_size
""",
        ("CB101 record.tp_size",),
    ),
    (
        "an alias of a field is one read, whatever is put into it",
        """\
def f(server_args):
    rows = server_args.rows
    rows.append(f)
    return rows
""",
        ("CB102 record.rows",),
    ),
]


@pytest.mark.parametrize(("name", "code", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, expected):
    judged = judge_files({"engine/case.py": complete(code)})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()


@pytest.mark.parametrize("form", ["{{{}}}", "dict({})"])
def test_a_large_mapping_keeps_its_keys_apart(judge_files, form):
    pairs = [(f"k{number}", "o") for number in range(100)] + [("sa", "get_server_args()")]
    joint = "=" if "dict" in form else ": "
    text = ", ".join(f"{name if joint == '=' else repr(name)}{joint}{value}" for name, value in pairs)
    code = f"def f(o):\n    d = {form.format(text)}\n    return d['k7'].width + d['sa'].tp_size\n"
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size"]


def test_a_large_sequence_keeps_its_places_apart(judge_files):
    text = ", ".join(["o"] * 50 + ["get_server_args()"] + ["o"] * 49)
    code = f"def f(o):\n    d = [{text}]\n    return d[7].width + d[-1].height + d[50].tp_size + d[-50].dp_size\n"
    assert judge_files({"engine/case.py": complete(code)}).symbols() == ["CB101 record.tp_size", "CB101 record.dp_size"]
