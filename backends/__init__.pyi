"""The names of the package for a type checker; __init__.py has them for everybody else, and a test compares."""

from confbag.backends.decide.plan import Binding as Binding
from confbag.backends.decide.plan import Plan as Plan
from confbag.backends.decide.planner import make_plan as make_plan
from confbag.backends.declare.implementation import Implementation as Implementation
from confbag.backends.declare.libraries import Library as Library
from confbag.backends.declare.op import Op as Op
from confbag.backends.declare.registry import Registry as Registry
from confbag.backends.declare.requires import NativeOp as NativeOp
from confbag.backends.declare.requires import Need as Need
from confbag.backends.declare.requires import Requires as Requires
from confbag.backends.platforms.evidence import Evidence as Evidence
from confbag.backends.platforms.platform import Platform as Platform
from confbag.backends.platforms.probe_facts import Accelerator as Accelerator
from confbag.backends.platforms.probe_facts import Software as Software
from confbag.backends.words.levels import ALWAYS as ALWAYS
from confbag.backends.words.levels import BATCH_INVARIANT as BATCH_INVARIANT
from confbag.backends.words.levels import NEVER as NEVER
from confbag.backends.words.levels import NONE as NONE
from confbag.backends.words.levels import PIECEWISE as PIECEWISE
from confbag.backends.words.levels import RUN_TO_RUN as RUN_TO_RUN
from confbag.backends.words.levels import UNIFORM_BATCH as UNIFORM_BATCH
from confbag.backends.words.rejection import Rejection as Rejection
