"""The cases of CB131. `engine.utils.is_npu` and the like are the predicates."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case
from confbag.ratchets.rules.case import case as _case

_OPTIONS = {
    "predicates": (
        "engine.utils.is_npu",
        "engine.utils.is_hip",
        "engine.utils.is_cuda",
        "engine.platforms.current.is_npu",
    )
}
_STRICT = {**_OPTIONS, "strict": True}
_COMMON = {
    "engine/utils/__init__.py": "from engine.utils.common import *\n",
    "engine/utils/common.py": """
    def is_npu():
        return False
    def is_hip():
        return False
""",
}


def case(name: str, code: str, *finds: str, **more: object) -> Case:
    """A case under the predicates."""
    more.setdefault("options", _OPTIONS)
    return _case(name, code, *(f"CB131 {found}" for found in finds), **more)


CASES: tuple[Case, ...] = (
    # (a)
    case("guarded import with the same name", """
        from engine.utils import is_npu
        if is_npu():
            from npu_kernels import rmsnorm
        else:
            from cuda_kernels import rmsnorm
    """, "rmsnorm"),
    case("re-binding after import", """
        from cuda_kernels import rmsnorm
        import engine.utils as utils
        if utils.is_npu():
            from npu_kernels import rmsnorm
    """, "rmsnorm"),
    case("re-binding to another function's name", """
        from cuda_kernels import rmsnorm
        from npu_kernels import npu_rmsnorm
        from engine.utils import is_npu
        if is_npu():
            rmsnorm = npu_rmsnorm
    """, "rmsnorm"),
    case("flags, with and, or and not", """
        from engine.utils import is_hip, is_npu
        _is_npu = is_npu()
        _is_hip = is_hip()
        _plain = not (_is_npu or _is_hip)
        if _is_npu or _is_hip:
            from other import one
        else:
            from cuda_kernels import one
        if _plain and True:
            from cuda_kernels import two
        else:
            from other import two as two
    """, "one", "two"),
    case("elif chain with a function", """
        from engine.utils import is_hip, is_npu
        if x:
            from cuda_kernels import one
        elif is_npu():
            from npu_kernels import one
        elif is_hip():
            def one(x):
                return x
    """, "one"),
    case("two definitions in a class and in a function", """
        from engine.utils import is_npu
        class Norm:
            if is_npu():
                def forward(self, x):
                    return x
            else:
                def forward(self, x):
                    return x + 1
        def run(x):
            if is_npu():
                from npu_kernels import one
            else:
                from cuda_kernels import one
            return one(x)
    """, "forward", "one"),
    case("once a scope, whatever the number of bindings", """
        from engine.utils import is_hip, is_npu
        if is_npu():
            from a import one
        elif is_hip():
            from b import one
        else:
            from c import one
    """, "one"),
    case("a flag of another module, and a predicate that a star hands on", """
        from engine.flags import ON_NPU as on
        from engine.utils.common import is_hip
        if on:
            from a import one
        else:
            from b import one
        if is_hip():
            from a import two
        else:
            from b import two
    """, "one", "two", files={**_COMMON, "engine/flags.py": """
        from engine.utils import is_npu as npu
        ON_NPU = npu() and True
    """}),
    case("a flag on self, and a method of a platform", """
        from engine.platforms import current
        class A:
            def __init__(self):
                self._npu = current.is_npu()
            def f(self, x):
                if self._npu:
                    from a import one
                else:
                    from b import one
                return one(x)
    """, "one"),
    case("two bindings, whatever they give", """
        from engine.utils import is_hip, is_npu
        if is_npu():
            from kernels import one
        elif is_hip():
            from kernels import one
        from kernels import two
        if is_npu():
            two = compiled(two)
    """, "one", "two"),
    # (b)
    case("one binding and None", """
        from engine.utils import is_npu
        one = None
        if is_npu():
            from npu_kernels import one
        if is_npu():
            import torch_npu
        else:
            torch_npu = None
    """, "one", "torch_npu"),
    # (c)
    case("ternaries", """
        from engine.utils import is_npu
        from kernels import cuda_norm, npu_norm, NPURunner, Runner
        norm = npu_norm if is_npu() else cuda_norm
        class A:
            def f(self, x):
                self.runner = NPURunner if is_npu() else Runner
                return (self.npu if is_npu() else self.cuda)(x, act=npu_norm if is_npu() else cuda_norm)
            def npu(self, x):
                return x
            def cuda(self, x):
                return x
    """, "norm", "runner", "npu", "act"),
    # (d)
    case("factories", """
        from engine.utils import is_npu
        from backends import NPUBackend, Backend
        def make(x):
            if is_npu():
                return NPUBackend(x)
            return Backend(x)
        def make_by_ternary(x):
            return NPUBackend(x) if is_npu() else Backend(x)
        def make_by_name(x):
            if is_npu():
                made = NPUBackend(x)
            else:
                made = Backend(x)
            return made
        def make_by_import(x):
            if is_npu():
                from npu import Special
                return Special(x)
            from backends import Plain
            return Plain(x)
    """, "make", "make_by_ternary", "make_by_name", "make_by_import"),
    case("strict", """
        from engine.utils import is_npu
        if is_npu():
            from npu_kernels import one
        def f(x):
            return one(x)
    """, "one", options=_STRICT),
    # Valid
    case("bound only under a test, without strict", """
        from engine.utils import is_npu
        if is_npu():
            from npu_kernels import one
    """),
    case("a log line, a constant, a dtype, a member", """
        from enum import Enum
        from engine.utils import is_hip, is_npu
        from engine.kinds import Backend
        class Kind(Enum):
            A = 1
            B = 2
        if is_npu():
            log("npu")
            limit = 1
            dtype = torch.float16
            kind = Kind.A
        else:
            limit = 2
            dtype = torch.bfloat16
            kind = Kind.B
        fp8 = torch.float8_e4m3fnuz if is_hip() else torch.float8_e4m3fn
        member = Kind.A if is_npu() else Kind.B
        other = Backend.TRITON if is_npu() else Backend.CUDA
        name = "npu" if is_npu() else "cuda"
        made = dict(a=1) if is_npu() else dict(a=2)
    """),
    case("a tensor's is_cuda, another function of the name", """
        from other.utils import is_npu
        def f(x):
            if x.is_cuda:
                from a import one
            else:
                from b import one
            return one(x)
        def g(is_hip):
            if is_hip():
                from a import two
            else:
                from b import two
        if is_npu():
            from a import three
        else:
            from b import three
    """),
    case("the same module on both sides", """
        from engine.utils import is_npu
        if is_npu():
            import torch_npu
            import kernels.one
        else:
            import torch_npu
            import kernels.two
    """),
    case("a record of a result, and an exception", """
        from typing import NamedTuple
        from engine.utils import is_npu
        class Packed(NamedTuple):
            rows: int
        class Plain(NamedTuple):
            rows: int
        def plan(x):
            if is_npu():
                return Packed(x)
            return Plain(x)
        fault = KeyError if is_npu() else ValueError
    """),
    case("tests that are not of the platform", """
        from engine.utils import is_npu
        LIMIT = 4 if is_npu() else 8
        if size > LIMIT:
            from a import one
        else:
            from b import one
        try:
            from a import two
        except ImportError:
            two = None
        if is_npu():
            log(two)
    """),
    case("only a type checker takes the branch", """
        from typing import TYPE_CHECKING
        from engine.utils import is_npu
        if TYPE_CHECKING:
            from a import one
        elif is_npu():
            from b import one
    """),
    case("a factory of one class, and errors", """
        from engine.utils import is_npu
        from backends import Backend
        def make(x):
            if is_npu():
                return Backend(x, npu=True)
            return Backend(x)
        def text(x):
            if is_npu():
                return describe(x)
            return Backend(x)
    """),
    case("different scopes", """
        from engine.utils import is_npu
        def f(x):
            if is_npu():
                from a import one
                return one(x)
        def g(x):
            from b import one
            return one(x)
    """),
)  # fmt: skip
