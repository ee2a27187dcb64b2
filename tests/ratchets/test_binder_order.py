"""Two runs say the same: sets of values have an order of their own in each process, findings have none of it."""

from __future__ import annotations

GUESSED = """\
class Request:
    def __init__(self):
        self.server_args: dict = {}


def read(args):
    return args.tp_size


def hand(request, flag):
    sa = get_server_args()
    if flag:
        sa = request.server_args
    read(sa)
"""


def test_a_record_that_may_be_a_guess_is_handed_on_in_every_run(engine):
    engine.write("ratchets.toml", engine.read("ratchets.toml").replace('"CB111"]', '"CB111", "CB104"]'))
    engine.write("engine/case.py", GUESSED)
    engine.git("add", "-A")
    told = set()
    for seed in range(6):
        report = engine.command("check", "--format", "json", "--no-cache", env={"PYTHONHASHSEED": str(seed)}).json
        told.add(tuple(found["symbol"] for found in report["findings"] if found["code"] == "CB104"))
    assert told == {("record->read(tp_size)",)}
