"""The configuration file: found above the working directory, read whole, every mistake said in one run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confbag.ratchets.codes import RECORD_RULES, RULES
from confbag.ratchets.config.names import missing
from confbag.ratchets.config.toml_table import Table, closest
from confbag.ratchets.config.toml_text import Document, read
from confbag.ratchets.configuration import DEFAULT_CODES, MAX_BYTES, Configuration, RecordSpec, Site, Source
from confbag.ratchets.faults import Fault, UsageError, usage
from confbag.ratchets.paths import named, normal

PYPROJECT = "pyproject.toml"
OWN = "ratchets.toml"
_PREFIX = ("tool", "confbag", "ratchets")
_TABLES = ("CB131", "CB132", "CB133", "CB141", "CB142")


def find(start: Path) -> Path:
    """The nearest configuration file above a folder; UsageError where there is none, or two beside each other."""
    for folder in (start, *start.parents):
        found = [file for file in (folder / OWN, folder / PYPROJECT) if configures(file)]
        if len(found) > 1:
            raise usage(f"{OWN} and [tool.confbag.ratchets] of {PYPROJECT} are both there; keep one", str(folder))
        if found:
            return found[0]
    raise usage(
        f"no [tool.confbag.ratchets] in a {PYPROJECT}, and no {OWN}, in {start} or above it; "
        "`confbag ratchet init` writes one"
    )


def configures(file: Path) -> bool:
    """Whether a file is there and configures the ratchets; UsageError where that cannot be told."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False
    except OSError as error:
        raise usage(f"cannot be read: {error.strerror}", shown_of(file)) from error
    if file.name == OWN:
        return True
    if b"ratchets" not in content:
        return False
    document = read(shown_of(file), content)
    if isinstance(document, Fault):
        raise UsageError([document])
    return _table_of(document) is not None


def _table_of(document: Document) -> Any:
    value: Any = document.tables
    for name in _PREFIX:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def repository_of(folder: Path) -> Path:
    """The top of the checkout that a folder lies in; the folder itself outside of any."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)


def shown_of(file: Path) -> str:
    """A file of ours as all output names files: from the top of the repository."""
    return named(file.relative_to(repository_of(file.parent)).as_posix())


def load(file: Path, *, shown: str | None = None) -> Configuration:
    """The configuration of one file; UsageError with every fault. `shown` is the file's name in messages."""
    name = shown or file.name
    try:
        content = file.read_bytes()
    except OSError as error:
        raise usage(f"cannot be read: {error.strerror}", name) from error
    document = read(name, content)
    if isinstance(document, Fault):
        raise UsageError([document])
    faults: list[Fault] = []
    if file.name == PYPROJECT:
        values = _table_of(document)
        if not isinstance(values, dict):
            raise usage("[tool.confbag.ratchets] must be a table", document.at(_PREFIX))
        table = Table(document, _PREFIX, values, faults)
    else:
        table = Table(document, (), document.tables, faults)
    configuration = _configuration(table, file)
    if faults:
        raise UsageError(sorted(faults, key=_order))
    return configuration


def _order(fault: Fault) -> tuple[str, list[int]]:
    file, _, place = fault.where.partition(":")
    return file, [int(part) for part in place.split(":") if part.isdigit()]


def _configuration(table: Table, file: Path) -> Configuration:
    root = file.parent
    source = _sources(table, root)
    plugins = table.numbered("plugins")
    theirs: dict[str, str] = {}
    if plugins:
        from confbag.ratchets.config.plugins import offered  # here: looking costs time, and few have any

        theirs = offered(table, plugins, RULES)
    roots = _existing(table, "roots", root, (".",))
    exclude = _paths(table, "exclude")
    records = tuple(_record(part, root, source) for part in table.tables("record"))
    _same_names(table, records)
    codes = _codes(table, theirs, records)
    platform, native, sync, sites, legacy = (table.table(code) for code in _TABLES)
    predicates = platform.numbered("predicates")
    if "CB131" in codes and not predicates:
        platform.fault('CB131 needs the platform tests that it looks for: predicates = ["engine.utils.is_npu"]')
    for number, predicate in predicates.items():
        if not all(part.isidentifier() for part in predicate.split(".")):
            platform.fault(f"{predicate!r} is no dotted name", "predicates", number)
    configuration = Configuration(
        root=root,
        repository=repository_of(root),
        file=file,
        source=source,
        roots=roots,
        exclude=exclude,
        codes=codes,
        records=records,
        max_bytes=table.number("max_bytes", MAX_BYTES),
        plugins=tuple(plugins.values()),
        predicates=tuple(predicates.values()),
        strict=platform.flag("strict"),
        kernels=_paths(native, "kernels"),
        hot=sync.texts("hot"),
        host=sync.texts("host"),
        sites=_sites(sites),
        legacy=_legacy(legacy),
        tables={code: dict(table.table(code).values) for code in theirs if table.has(code)},
    )
    for part in (platform, native, sync, sites, legacy):
        part.close()
    for code in RULES:
        if code not in _TABLES:
            table.table(code).close()
    table.close()
    return configuration


def _sources(table: Table, root: Path) -> tuple[Source, ...]:
    table.known("source")
    default = [".", "src"] if (root / "src").is_dir() else ["."]
    values = table.values.get("source", default)
    if not isinstance(values, list):
        table.fault(f"`source` must be a list, is {values!r}", "source")
        values = default
    sources = []
    for number, value in enumerate(values):
        if isinstance(value, dict):
            inner = Table(table.document, (*table.path, "source", number), value, table.faults)
            source = Source(normal(inner.text("path", ".")), inner.text("module"))
            inner.close()
        elif isinstance(value, str) and value:
            source = Source(normal(value))
        else:
            table.fault(f"a source is a folder or {{path = ..., module = ...}}, not {value!r}", "source", number)
            continue
        if not _inside(source.path):
            table.fault(f"{source.path!r} leads out of the folder of this file", "source", number)
        elif not (root / source.path).is_dir():
            table.fault(f"source {source.path!r} is no folder beside this file", "source", number)
        elif source.module and not all(part.isidentifier() for part in source.module.split(".")):
            table.fault(f"{source.module!r} is no module's name", "source", number)
        else:
            sources.append(source)
    # Names are looked up all the same where no source is right.
    return tuple(sources) or (Source("."),)


def _record(table: Table, root: Path, source: tuple[Source, ...]) -> RecordSpec:
    name = table.text("name")
    if not table.has("name"):
        table.fault("a record needs a name: it is what messages call it")
    elif name and not name.isidentifier():
        table.fault(f"{name!r} is no name; write it as a variable is written", "name")
    accessors, types, holders = (table.numbered(key) for key in ("accessors", "types", "holders"))
    for key, dotted_names in (("accessors", accessors), ("types", types)):
        for number, dotted in dotted_names.items():
            parts = dotted.split(".")
            plain = [part[:-2] if key == "accessors" and part.endswith("()") else part for part in parts]
            if not all(part.isidentifier() for part in plain):
                table.fault(f"{dotted!r} is no dotted name", key, number)
            else:
                reason = missing(dotted, root, source)
                if reason is not None:
                    table.fault(f"{dotted} is not there: {reason}", key, number)
    for number, holder in holders.items():
        if not holder.isidentifier():
            table.fault(f"{holder!r} is no name of a parameter or an attribute", "holders", number)
    if not (table.has("accessors") or table.has("types") or table.has("holders")):
        table.fault("a record needs accessors, types or holders; without them nothing of it can be found")
    fields = {}
    if table.text("fields"):
        from confbag.ratchets.config.fields import read_fields  # here: not every record has a table

        fields = read_fields(table, root)
    record = RecordSpec(
        name=name,
        accessors=tuple(accessors.values()),
        types=tuple(types.values()),
        holders=tuple(holders.values()),
        owners=_existing(table, "owners", root, ()),
        holders_in=_existing(table, "holders_in", root, ()),
        fields=fields,
    )
    table.close()
    return record


def _same_names(table: Table, records: tuple[RecordSpec, ...]) -> None:
    names = [record.name for record in records]
    for number, name in enumerate(names):
        if name and name in names[:number]:
            table.fault(f"two records are called {name!r}; findings could not tell them apart", "record", number)


def _codes(table: Table, theirs: Iterable[str], records: tuple[RecordSpec, ...]) -> tuple[str, ...]:
    known = (*RULES, *theirs)
    listed = {key: table.numbered(key) for key in ("enable", "extend-enable", "disable")}
    chosen = {key: tuple(codes.values()) for key, codes in listed.items()}
    for key, codes in listed.items():
        for number, code in codes.items():
            if code not in known:
                table.fault(f"unknown code {code!r}; {closest(code, known)}", key, number)
            elif key != "disable" and code in RECORD_RULES and not records:
                table.fault(f"{code} is about records, and no [[record]] is here; add one", key, number)
            elif key == "disable" and (code in chosen["enable"] or code in chosen["extend-enable"]):
                table.fault(f"{code} is enabled and disabled; keep one", key, number)
    tabled = tuple(code for code in known if table.has(code))
    wanted = chosen["enable"] if table.has("enable") else (*DEFAULT_CODES, *tabled)
    wanted = (*wanted, *chosen["extend-enable"])
    return tuple(sorted({code for code in wanted if code not in chosen["disable"]}))


def _sites(table: Table) -> dict[str, tuple[Site, ...]]:
    """`callees` are functions, globs too; each `[[site]]` lists one place of one of them, and why."""
    sites: dict[str, list[Site]] = {callee: [] for callee in table.texts("callees")}
    for part in table.tables("site"):
        texts = {key: part.text(key) for key in ("callee", "path", "qualname", "reason")}
        lacking = [key for key in texts if not part.has(key)]
        if lacking:
            part.fault(f"a listed place needs {', '.join(lacking)}")
        part.close()
        site = Site(normal(texts["path"]), texts["qualname"], texts["reason"])
        listed = sites.setdefault(texts["callee"], [])
        if any((other.path, other.qualname) == (site.path, site.qualname) for other in listed):
            part.fault(f"{site.qualname} of {site.path} is listed twice for {texts['callee']}; remove one")
        listed.append(site)
    return {callee: tuple(listed) for callee, listed in sites.items()}


def _legacy(table: Table) -> dict[str, str]:
    """`names`: qualified name -> what to use instead."""
    names = table.table("names")
    legacy = {}
    for name in names.values:
        legacy[name] = names.text(name)
        if not all(part.replace("*", "_").isidentifier() for part in name.split(".")):
            names.fault(f"{name!r} is no dotted name", name)
    return legacy


def _paths(table: Table, key: str) -> tuple[str, ...]:
    paths = []
    for number, path in table.numbered(key).items():
        if not _inside(path):
            table.fault(f"{path!r} leads out of the folder of this file; write paths relative to it", key, number)
        else:
            paths.append(normal(path))
    return tuple(paths)


def _existing(table: Table, key: str, root: Path, default: tuple[str, ...]) -> tuple[str, ...]:
    if not table.has(key):
        table.known(key)
        return default
    paths = []
    for number, path in table.numbered(key).items():
        what = {"roots": "root", "owners": "owner"}.get(key, key)
        if not _inside(path):
            table.fault(f"{path!r} leads out of the folder of this file; write paths relative to it", key, number)
        elif not (root / path).exists():
            table.fault(f"{what} {path!r} matches nothing: no such file or folder beside this file", key, number)
        else:
            paths.append(normal(path))
    if key == "roots" and not table.values[key]:
        table.fault("`roots` is empty: nothing would be analysed", key)
    return tuple(paths)


def _inside(path: str) -> bool:
    return not path.startswith("/") and "\\" not in path and ".." not in path.split("/") and "\0" not in path
