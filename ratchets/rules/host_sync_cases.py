"""The cases of CB133."""

from __future__ import annotations

from confbag.ratchets.rules.case import Case, case

_HOT = {"hot": ("Backend.forward*", "engine.case.plan"), "host": ("*_cpu*", "*_host", "*_list", "np.*")}

CASES: tuple[Case, ...] = (
    case("copies", """
        class Backend:
            def forward(self, x):
                return x.cpu(), x.sum().item(), x[0].tolist()
    """, "CB133 cpu", "CB133 item", "CB133 tolist", options=_HOT),
    case("tests and casts around reductions", """
        def plan(x, y):
            if x.any():
                return int(x.max())
            if not (x > 1).all() and y:
                return bool(torch.any(x))
            return float(x.min()) if x.sum() > 3 else 0
    """, "CB133 if any", "CB133 int max", "CB133 if all", "CB133 bool any", "CB133 float min", "CB133 if sum",
        options=_HOT),
    case("one wait, not two", """
        def plan(x):
            return int(x.max().item())
    """, "CB133 item", options=_HOT),
    case("synchronise", """
        def plan(stream):
            torch.cuda.synchronize()
            stream.synchronize()
    """, "CB133 synchronize", "CB133 synchronize", options=_HOT),
    case("in what a hot function holds", """
        def plan(xs):
            def inner(x):
                return x.item()
            return [x.cpu() for x in xs], inner, lambda x: x.tolist()
    """, "CB133 item", "CB133 cpu", "CB133 tolist", options=_HOT),
    case("host receivers and locals made from them", """
        import numpy as np
        def plan(batch, seq_lens_cpu, x):
            lens = batch.seq_lens_cpu[: batch.size]
            longest = lens.max().item()
            rows = np.asarray(batch.rows)
            if rows.any() or seq_lens_cpu.max() > 3:
                return rows.tolist()
            copy = lens
            return int(copy.sum()), x.lens_list.tolist(), longest
    """, options=_HOT),
    case("a local that is on the host on one way only", """
        def plan(batch, x, fast):
            lens = batch.lens_cpu
            if fast:
                lens = x
            return lens.tolist()
    """, "CB133 tolist", options=_HOT),
    case("an index on the host does not make the value one", """
        def plan(x, index_cpu):
            return x[index_cpu].item()
    """, "CB133 item", options=_HOT),
    case("reductions that stay on the device", """
        def plan(x):
            y = x.max() + x.sum()
            print(max(1, 2), any([1]))
            return y.to(int)
    """, options=_HOT),
    case("a function that is not hot", """
        class Other:
            def forward(self, x):
                return x.item()
        def report(x):
            return x.item()
    """, options=_HOT),
    case("a host value that is moved to the device is none", """
        def plan(lens_cpu, device):
            lens = lens_cpu.to(device)
            return lens.max().item(), lens_cpu.to(torch.int64).max().item()
    """, "CB133 item", options=_HOT),
    case("loops over the host, and tests around builtins", """
        def plan(lens_cpu, xs):
            if any(x.any() for x in xs):
                return [length.item() for length in lens_cpu]
            for length in lens_cpu:
                length.item()
            return int(xs.max(dim=0).values[0])
    """, "CB133 if any", "CB133 int max", options=_HOT),
)  # fmt: skip
