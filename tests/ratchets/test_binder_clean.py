"""Code that looks like an access and is none: shadowed, rebound, another object, a copy."""

from __future__ import annotations

import pytest

from confbag.ratchets.rules.case import complete

SHAPES = [
    (
        "dict named server_args",
        """\
def f():
    server_args = {}
    server_args['x'] = 1
    server_args.update(a=1)
    return server_args.items()
""",
        (),
    ),
    (
        "other attr",
        """\
def f(x):
    return x.my_server_args.tp_size
""",
        (),
    ),
    (
        "method same name on module",
        """\
import other
def f():
    return other.get_server_args().tp_size
""",
        (),
    ),
    (
        "other module",
        """\
from other import get_server_args
def f():
    return get_server_args().tp_size
""",
        (),
    ),
    (
        "shadow local import",
        """\
def f():
    from other import get_server_args
    return get_server_args().tp_size
""",
        (),
    ),
    (
        "param shadow accessor",
        """\
def f(get_server_args):
    return get_server_args().tp_size
""",
        (),
    ),
    (
        "class attr shadow",
        """\
class get_server_args:
    tp_size = 1
get_server_args().tp_size
""",
        (),
    ),
    (
        "for shadow",
        """\
def f(xs):
    for get_server_args in xs:
        get_server_args().tp_size
""",
        (),
    ),
    (
        "string key",
        """\
d = {'get_server_args': 1}
d['get_server_args'].real
""",
        (),
    ),
    (
        "kw name",
        """\
f(get_server_args=1)
""",
        (),
    ),
    (
        "format",
        """\
'{server_args.tp_size}'.format(server_args=x)
""",
        (),
    ),
    (
        "logging",
        """\
def f(server_args):
    log('%s', server_args)
    log(f'{server_args=}')
    repr(server_args)
""",
        (),
    ),
    (
        "pickle",
        """\
import pickle
def f(server_args):
    return pickle.dumps(server_args)
""",
        (),
    ),
    (
        "isinstance",
        """\
def f(x):
    return isinstance(x, ServerArgs)
""",
        (),
    ),
    (
        "type call",
        """\
def f(server_args):
    return type(server_args).__name__
""",
        (),
    ),
    (
        "class static",
        """\
def f():
    return ServerArgs.from_cli_args(x).width + ServerArgs.DEFAULT
""",
        (),
    ),
    (
        "compare",
        """\
def f(server_args, o):
    return server_args == o or server_args is o
""",
        (),
    ),
    (
        "del var",
        """\
def f(server_args):
    del server_args
""",
        (),
    ),
    (
        "none default",
        """\
def f(server_args=None):
    if server_args is None:
        return
""",
        (),
    ),
    (
        "pass kw",
        """\
def f(server_args):
    return g(server_args=server_args)
""",
        (),
    ),
    (
        "yield it",
        """\
def f(server_args):
    yield server_args
""",
        (),
    ),
    (
        "comp shadow accessor",
        """\
[get_server_args().x for get_server_args in ys]
""",
        (),
    ),
    (
        "lambda shadow",
        """\
f = lambda get_server_args: get_server_args().x
""",
        (),
    ),
    (
        "except name",
        """\
def f():
    sa = get_server_args()
    log(sa)
    try: pass
    except E as sa:
        print(sa.args)
""",
        (),
    ),
    (
        "match shadow",
        """\
def f(x):
    sa = get_server_args()
    log(sa)
    match x:
        case sa:
            return sa.width
""",
        (),
    ),
    (
        "with shadow",
        """\
def f(x):
    sa = get_server_args()
    log(sa)
    with x as sa:
        return sa.width
""",
        (),
    ),
    (
        "import shadow",
        """\
def f():
    sa = get_server_args()
    log(sa)
    import other as sa
    return sa.width
""",
        (),
    ),
    (
        "def shadow",
        """\
def f():
    sa = get_server_args()
    log(sa)
    def sa(): pass
    return sa.width
""",
        (),
    ),
    (
        "class shadow",
        """\
def f():
    sa = get_server_args()
    log(sa)
    class sa: pass
    return sa.width
""",
        (),
    ),
    (
        "tuple rebind",
        """\
def f(x):
    sa = get_server_args()
    log(sa)
    sa, y = x
    return sa.width
""",
        (),
    ),
    (
        "walrus rebind",
        """\
def f(x):
    sa = get_server_args()
    log(sa)
    (sa := x)
    return sa.width
""",
        (),
    ),
    (
        "return before",
        """\
def f(flag, o):
    sa = o
    if flag:
        sa = get_server_args()
        return sa
    return sa.width
""",
        (),
    ),
    (
        "raise before",
        """\
def f(flag, o):
    sa = o
    if flag:
        sa = get_server_args()
        raise E(sa)
    return sa.width
""",
        (),
    ),
    (
        "continue",
        """\
def f(xs, o):
    for x in xs:
        sa = o
        if x:
            sa = get_server_args()
            log(sa)
            continue
        print(sa.width)
""",
        (),
    ),
    (
        "break",
        """\
def f(xs, o):
    sa = o
    while True:
        print(sa.width)
        if xs:
            sa = get_server_args()
            log(sa)
            break
""",
        (),
    ),
    (
        "else of try",
        """\
def f(o):
    try:
        sa = o
    except E:
        sa = get_server_args()
        return sa
    return sa.width
""",
        (),
    ),
    (
        "box other idx",
        """\
def f(o):
    xs = [get_server_args(), o]
    return xs[1].width
""",
        (),
    ),
    (
        "tuple unpack other",
        """\
def f(o):
    a, b = get_server_args(), o
    return b.width
""",
        (),
    ),
    (
        "helper other elem",
        """\
def h(o):
    return get_server_args(), o
def f(o):
    return h(o)[1].width
""",
        (),
    ),
    (
        "attr of class other inst",
        """\
class A:
    def __init__(self, o):
        self.sa = get_server_args()
        self.o = o
    def f(self):
        return self.o.width
""",
        (),
    ),
    (
        "subclass override",
        """\
class A:
    def get(self):
        return get_server_args()
class B(A):
    def get(self):
        return 1
    def f(self):
        return self.get().real
""",
        (),
    ),
    (
        "static data",
        """\
class A:
    server_args: int = 3
    def f(self):
        return self.server_args.real
""",
        (),
    ),
    (
        "docstring",
        """\
def f():
    '''get_server_args().tp_size'''
    return 1
""",
        (),
    ),
    (
        "type comment",
        """\
x = 1  # type: get_server_args().tp_size
""",
        (),
    ),
    (
        "str annotation",
        """\
x: 'get_server_args().tp_size' = 1
""",
        (),
    ),
    (
        "annot generic",
        """\
def f(x: List['get_server_args().tp_size']): pass
""",
        (),
    ),
    (
        "set attr other",
        """\
def f(server_args, o):
    o.server_args = server_args
    o.x = 1
    setattr(o, 'tp_size', 2)
    o.__dict__['tp_size'] = 1
""",
        (),
    ),
    (
        "copy write",
        """\
def f(server_args):
    sa = copy.copy(server_args)
    sa.tp_size = 1
    setattr(sa, 'tp_size', 2)
    vars(sa)['tp_size'] = 1
    sa.__dict__.update(tp_size=1)
""",
        (),
    ),
    (
        "deepcopy nested",
        """\
def f(server_args):
    copy.deepcopy(server_args).tp_size = 1
""",
        (),
    ),
    (
        "local dict of field",
        """\
def f(server_args):
    d = dict(x=server_args)
    d['y'] = 2
    d.pop('x')
    del d['y']
""",
        (),
    ),
    (
        "list append rec",
        """\
def f(server_args):
    xs = []
    xs.append(server_args)
    xs.clear()
""",
        (),
    ),
    (
        "aug var",
        """\
def f(server_args):
    n = 1
    n += 1
""",
        (),
    ),
    (
        "del item of other",
        """\
def f(o):
    del o.server_args['x']
""",
        (),
    ),
    (
        "global rebind",
        """\
def f():
    global server_args
    server_args = 1
""",
        (),
    ),
    (
        "attr rebind",
        """\
def f(self, o):
    self.server_args = o
""",
        (),
    ),
    (
        "attr del",
        """\
def f(self):
    del self.server_args
""",
        (),
    ),
    (
        "namedtuple _replace",
        """\
def f(x):
    return x._replace(server_args=1)
""",
        (),
    ),
    (
        "argparse",
        """\
def f():
    p = argparse.ArgumentParser()
    server_args = p.parse_args()
    server_args.tp_size = 1
    return server_args.port
""",
        (),
    ),
    (
        "known other attr",
        """\
class A:
    def __init__(self):
        self.server_args = argparse.Namespace()
    def f(self):
        return self.server_args.port
""",
        (),
    ),
    (
        "func attr holder",
        """\
def f():
    return f.server_args
""",
        (),
    ),
    (
        "probe accessor uncalled",
        """\
def f():
    if get_server_args:
        return 1
""",
        (),
    ),
    (
        "hasattr holder name",
        """\
def f(o):
    return hasattr(o, 'server_args')
""",
        (),
    ),
    (
        "getattr holder",
        """\
def f(o):
    return getattr(o, 'server_args', None)
""",
        (),
    ),
    (
        "enum",
        """\
class E(Enum):
    server_args = 1
E.server_args.value
""",
        (),
    ),
    (
        "module const",
        """\
import engine.server_args as m
m.PORT
m.helper()
""",
        (),
    ),
]


@pytest.mark.parametrize(("name", "code", "expected"), SHAPES, ids=[shape[0] for shape in SHAPES])
def test_shape(judge_files, name, code, expected):
    judged = judge_files({"engine/case.py": complete(code)})
    assert judged.symbols() == list(expected)
    assert judged.analysis.unanalysed == ()
