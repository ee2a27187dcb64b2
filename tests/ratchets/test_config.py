"""The configuration: where it is found, every mistake in one run with its place, and what the tables become."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from confbag.ratchets.config.file import find, load
from confbag.ratchets.config.toml_text import Document, read
from confbag.ratchets.configuration import DEFAULT_CODES, Configuration, Replacement, Source
from confbag.ratchets.faults import UsageError

RECORD = """
[[record]]
name = "server_args"
accessors = ["engine.runtime_context.get_server_args"]
types = ["engine.server_args.ServerArgs"]
holders = ["server_args"]
owners = ["engine/runtime_context.py"]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An engine's files, and no configuration."""
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "runtime_context.py").write_text("def get_server_args(): ...\ndef get_context(): ...\n")
    (tmp_path / "engine" / "server_args.py").write_text("class ServerArgs: ...\n")
    return tmp_path


@pytest.fixture
def loaded(tree: Path) -> Callable[..., Configuration]:
    """Load a text as ratchets.toml."""

    def one(text: str) -> Configuration:
        file = tree / "ratchets.toml"
        file.write_text(text, encoding="utf-8")
        return load(file)

    return one


@pytest.fixture
def faults(loaded: Callable[..., Configuration]) -> Callable[..., list[str]]:
    """The faults of a text."""

    def all_of(text: str) -> list[str]:
        with pytest.raises(UsageError) as caught:
            loaded(text)
        return [str(fault) for fault in caught.value.faults]

    return all_of


def test_everything_at_once(tree: Path, loaded: Callable[..., Configuration]) -> None:
    (tree / "fields.toml").write_text(
        'graph = {read = "not get_exec().graph", import = "from engine import get_exec"}\n'
        'tp_size = {read = "get_parallel().tp_size", import = ["from engine import get_parallel"]}\n'
        'pure = {read = "1"}\n'
    )
    configuration = loaded(
        'source = [".", {path = "engine", module = "other.engine"}]\nroots = ["engine"]\nexclude = ["engine/gen/"]\n'
        f'max_bytes = 5000\nextend-enable = ["CB104"]\ndisable = ["CB121"]\n{RECORD}fields = "fields.toml"\n'
        '[CB131]\npredicates = ["engine.utils.is_npu"]\nstrict = true\n'
        '[CB132]\nkernels = ["engine/kernels/"]\n'
        '[CB133]\nhot = ["engine.*.forward"]\nhost = ["*_cpu*"]\n'
        '[CB141]\ncallees = ["engine.parallel.free"]\n'
        '[[CB141.site]]\ncallee = "engine.parallel.size"\npath = "engine/a.py"\nqualname = "f"\nreason = "start-up"\n'
        '[CB142.names]\n"engine.globals.OLD" = "get_exec().new"\n'
    )
    assert configuration.source == (Source("."), Source("engine", "other.engine"))
    assert (configuration.roots, configuration.exclude, configuration.max_bytes) == (("engine",), ("engine/gen",), 5000)
    wanted = {*DEFAULT_CODES, "CB104", "CB131", "CB132", "CB133", "CB141", "CB142"} - {"CB121"}
    assert configuration.codes == tuple(sorted(wanted))
    (record,) = configuration.records
    assert record.owners == ("engine/runtime_context.py",)
    assert dict(record.fields) == {
        "graph": Replacement("get_exec().graph", ("from engine import get_exec",), True),
        "tp_size": Replacement("get_parallel().tp_size", ("from engine import get_parallel",)),
        "pure": Replacement("1"),
    }
    assert (configuration.predicates, configuration.strict) == (("engine.utils.is_npu",), True)
    assert configuration.kernels == ("engine/kernels",)
    assert (configuration.hot, configuration.host) == (("engine.*.forward",), ("*_cpu*",))
    assert [site.qualname for site in configuration.sites["engine.parallel.size"]] == ["f"]
    assert configuration.sites["engine.parallel.free"] == ()
    assert configuration.legacy == {"engine.globals.OLD": "get_exec().new"}


def test_the_defaults(tree: Path, loaded: Callable[..., Configuration]) -> None:
    configuration = loaded(RECORD)
    assert (configuration.source, configuration.roots) == ((Source("."),), (".",))
    assert configuration.codes == DEFAULT_CODES
    (tree / "src").mkdir()
    assert loaded(RECORD).source == (Source("."), Source("src"))


def test_enable_replaces_the_default_set(loaded: Callable[..., Configuration]) -> None:
    text = f'enable = ["CB101"]\nextend-enable = ["CB111"]\n{RECORD}[CB132]\nkernels = []\n'
    assert loaded(text).codes == ("CB101", "CB111")


def test_a_table_turns_its_rule_on(loaded: Callable[..., Configuration]) -> None:
    assert "CB104" in loaded(f"{RECORD}[CB104]\n").codes
    assert "CB132" in loaded(f"{RECORD}[CB132]\n").codes


def test_in_pyproject_the_tables_have_a_prefix(tree: Path) -> None:
    file = tree / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n[tool.confbag.ratchets]\nroots = ["engine"]\nrots = 1\n')
    with pytest.raises(UsageError) as caught:
        load(file)
    assert [str(fault) for fault in caught.value.faults] == [
        "pyproject.toml:5:1: unknown key `rots`; did you mean `roots`?"
    ]


def test_every_mistake_is_said_in_one_run_with_its_place(faults: Callable[..., list[str]]) -> None:
    text = """\
roots = ["engine", "enigne"]
source = ["lib"]
enable = ["CB101", "CB131", "CB999"]
exclude = "vendored"
max_bytes = 0
colour = true
[[record]]
accessors = ["engine.runtime_context.get_args", "nowhere.f", "1.2"]
types = ["engine.server_args.Args"]
holders = ["server args"]
owners = ["engine/gone.py"]
fields = "none.toml"
[[record]]
name = "b"
[CB131]
strict = "yes"
[CB141]
[[CB141.site]]
callee = "a.b"
[CB142.names]
"a b" = ""
"""
    said = faults(text)
    places = {fault.split(": ")[0] for fault in said}
    assert places == {
        "ratchets.toml:1:20", "ratchets.toml:2:11", "ratchets.toml:3:29", "ratchets.toml:4:1", "ratchets.toml:5:1",
        "ratchets.toml:6:1", "ratchets.toml:7:1", "ratchets.toml:8:14", "ratchets.toml:8:49", "ratchets.toml:8:62",
        "ratchets.toml:9:10", "ratchets.toml:10:12", "ratchets.toml:11:11", "ratchets.toml:12:1", "ratchets.toml:13:1",
        "ratchets.toml:15:1", "ratchets.toml:16:1", "ratchets.toml:18:1", "ratchets.toml:21:1",
    }  # fmt: skip
    whole = "\n".join(said)
    for words in (
        "root 'enigne' matches nothing",
        "unknown code 'CB999'; write one of CB101",
        "`exclude` must be a list",
        "engine.runtime_context.get_args is not there: engine/runtime_context.py has no `get_args`",
        "nowhere.f is not there: no module nowhere under source",
        "owner 'engine/gone.py' matches nothing",
        "CB131 needs the platform tests",
        "a listed place needs path, qualname, reason",
    ):
        assert words in whole


@pytest.mark.parametrize("key", ["accessors", "types", "holders", "owners"])
def test_a_fault_of_one_in_a_list_stands_at_it_whatever_stands_before(
    faults: Callable[..., list[str]], key: str
) -> None:
    """An element of another type or one that is there twice does not count, and still takes its place."""
    said = faults(f"[[record]]\nname = 'b'\n{key} = [3, 'a b', 'a b', 'c d']\n")
    for element in (0, 3, 10, 17):
        assert any(fault.startswith(f"ratchets.toml:3:{len(key) + 5 + element}: ") for fault in said), said


def test_a_table_that_takes_no_key_says_so(faults: Callable[..., list[str]]) -> None:
    assert faults(RECORD + "[CB101]\nfields = 1\n") == [
        "ratchets.toml:9:1: unknown key `fields`; nothing is set here; remove it"
    ]


@pytest.mark.parametrize(
    ("module", "text", "name"),
    [
        ("engine/x.py", "from engine.runtime_context import get_server_args as get\n", "engine.x.get"),
        ("engine/x.py", "if True:\n    import a.b as get\n", "engine.x.get"),
        ("engine/x.py", "try:\n    pass\nexcept E:\n    def get(): ...\n", "engine.x.get"),
        ("engine/x.py", "def f():\n    global get\n    get = 1\n", "engine.x.get"),
        ("engine/x.py", "from y import *\n", "engine.x.get"),
        ("engine/x.py", "def __getattr__(name): ...\n", "engine.x.get"),
        ("engine/x.py", "(a, get) = 1, 2\n", "engine.x.get"),
        ("engine/x.py", "class A:\n    def get(self): ...\n", "engine.x.A.get"),
        ("engine/p/__init__.py", "get: int = 1\n", "engine.p.get"),
        ("engine/x.py", "def get(): ...\n", "engine.x.get().server_args"),
    ],
)
def test_what_counts_as_there(
    tree: Path, loaded: Callable[..., Configuration], module: str, text: str, name: str
) -> None:
    (tree / module).parent.mkdir(exist_ok=True)
    (tree / module).write_text(text)
    assert loaded(f'[[record]]\nname = "r"\naccessors = ["{name}"]\n').records[0].accessors == (name,)


@pytest.mark.parametrize(
    "text", ["x = 1  # get\n", "def f():\n    get = 1\n", "print('get')\n", "class A:\n    get = 1\n"]
)
def test_what_does_not(tree: Path, faults: Callable[..., list[str]], text: str) -> None:
    (tree / "engine" / "x.py").write_text(text)
    assert "engine/x.py has no `get`" in faults('[[record]]\nname = "r"\naccessors = ["engine.x.get"]\n')[0]


def test_a_folder_that_is_imported_under_another_name(tree: Path, loaded: Callable[..., Configuration]) -> None:
    text = 'source = [{path = "engine", module = "confbag.engine"}]\n[[record]]\nname = "r"\naccessors = ["{}"]\n'
    name = "confbag.engine.runtime_context.get_server_args"
    assert loaded(text.replace("{}", name)).records[0].accessors == (name,)


def test_faults_of_the_fields_table_have_its_places(tree: Path, faults: Callable[..., list[str]]) -> None:
    (tree / "fields.toml").write_text(
        'a = {read = "get(", import = "from x import y"}\nb = {read = "x", import = "x = 1"}\nc = {}\nd = 1\n'
        'e = {read = "x", imports = "import x"}\nf = {read = "g(", import = "x = 1"}\n'
    )
    said = faults(f'{RECORD}fields = "fields.toml"\n')
    assert {fault.split(": ")[0] for fault in said} == {
        "fields.toml:1:6", "fields.toml:2:18", "fields.toml:3:1", "fields.toml:4:1", "fields.toml:5:18",
        "fields.toml:6:6", "fields.toml:6:19",
    }  # fmt: skip


def test_the_table_that_confbag_writes_is_read(tree: Path, loaded: Callable[..., Configuration]) -> None:
    from confbag import Config
    from confbag.cli.schema import accessors

    (tree / "fields.toml").write_text(accessors(Config), encoding="utf-8")
    fields = loaded(f'{RECORD}fields = "fields.toml"\n').records[0].fields
    assert fields["enable_deterministic_inference"] == Replacement(
        "get_exec().deterministic", ("from confbag import get_exec",)
    )
    assert any(replacement.inverted for replacement in fields.values())


def test_what_is_no_toml_has_a_place(faults: Callable[..., list[str]]) -> None:
    assert faults("roots = [\n")[0].startswith("ratchets.toml:")
    assert faults('roots = ["a"\nx = 1\n')[0].startswith("ratchets.toml:2:")


def test_the_nearest_file_is_used_whole(tree: Path) -> None:
    (tree / "pyproject.toml").write_text("[tool.confbag.ratchets]\n")
    assert find(tree / "engine") == tree / "pyproject.toml"
    (tree / "engine" / "pyproject.toml").write_text("[tool.other]\nratchets = 1\n")
    assert find(tree / "engine") == tree / "pyproject.toml"
    (tree / "engine" / "ratchets.toml").write_text("")
    assert find(tree / "engine") == tree / "engine" / "ratchets.toml"


def test_two_files_beside_each_other_are_a_mistake(tree: Path) -> None:
    (tree / "pyproject.toml").write_text("[tool.confbag.ratchets]\n")
    (tree / "ratchets.toml").write_text("")
    with pytest.raises(UsageError, match="keep one"):
        find(tree)


def test_none_is_a_mistake_that_names_init(tree: Path) -> None:
    with pytest.raises(UsageError, match="confbag ratchet init"):
        find(tree)


def test_places_of_a_document() -> None:
    text = (
        '# c\n[a."b c"]\nd.e = """x\n[y]"""\n[[f]]\n[f.g]\nh = [\n  1979-05-27T07:32:00, # ]\n  {i = "}"},\n]\n[[f]]\n'
    )
    document = read("d.toml", text.encode())
    assert isinstance(document, Document)
    assert document.tables["f"][0]["g"]["h"][0] == datetime.datetime(1979, 5, 27, 7, 32)
    for path, place in {
        ("a", "b c"): "2:1",
        ("a", "b c", "d", "e"): "3:1",
        ("f", 0): "5:1",
        ("f", 0, "g", "h"): "7:1",
        ("f", 0, "g", "h", 0): "8:3",
        ("f", 0, "g", "h", 1, "i"): "9:4",
        ("f", 1): "11:1",
        ("f", 1, "nothing"): "11:1",
    }.items():
        assert document.at(path) == f"d.toml:{place}"  # type: ignore[arg-type]


def test_the_configuration_can_be_sent_to_a_worker(loaded: Callable[..., Configuration]) -> None:
    import pickle

    configuration = loaded(RECORD)
    assert pickle.loads(pickle.dumps(configuration)) == configuration
