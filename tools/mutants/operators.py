"""Operators: the small changes that make a mutant out of a source text.

Each change stands at a place: the statement it is in, the function or class around it, and whether the statement runs
when the module is imported or when the function is called. Changes are spliced into the text, so that a mutant can be
shown as a line before and a line after. What has no effect on behaviour is left alone: docstrings, imports,
annotations of parameters, what only type checkers read, what is logged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

DELETE = "delete a statement"
NEGATE = "negate a condition"
SHIFT = "shift a bound"
BLUR = "blur a literal"
REWORD = "blur a text"
DROP = "drop a member"
LOOSEN = "make a field optional"
SKIP = "skip a call"
OPERATORS = (DELETE, NEGATE, SHIFT, BLUR, REWORD, DROP, LOOSEN, SKIP)

MARK = "~"
OPPOSITE = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
BOUNDS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
LOGGERS = {"log", "logger", "logging", "warnings"}
WITHOUT_EFFECT = {"__all__", "__slots__"}
PLAIN_DECORATORS = {"property", "classmethod", "staticmethod", "cache", "cached_property", "overload", "override"}
NEEDS_BRACKETS = (ast.BoolOp, ast.BinOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Compare, ast.UnaryOp, ast.Await)
DEFAULTS = {"default", "default_factory"}
MODULE = re.compile(r"[a-z_]\w*(\.[a-z_]\w*)+")
PROSE = {"description", "title", "examples"}
"""Keywords whose texts explain and decide nothing."""


@dataclass(frozen=True)
class Place:
    """Where a change stands."""

    owner: str
    """The qualified name of the function or class around it, or of the variable that is assigned."""
    defines: str | None
    """The name of its module-level definition, where the statement runs at import; else nothing."""
    first: int
    last: int
    text: str
    """The statement, or the part of it that stands before its block."""


@dataclass(frozen=True)
class Mutant:
    """One change of one source text, as bytes to put between two offsets."""

    path: str
    operator: str
    place: Place
    start: int
    end: int
    new: str
    line: int
    segment: str
    about: str
    """What the change is about: the member that is dropped, else the text that is replaced."""

    def apply(self, text: str) -> str:
        """Return the text with the change made."""
        raw = text.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


@dataclass(frozen=True)
class Change:
    """A change of one node before it is placed in a file: the operator, the node, its new text, what it is about."""

    operator: str
    node: ast.expr | ast.stmt
    new: str
    about: str | None = None


def mutants_of(text: str, path: str) -> list[Mutant]:
    """Return every mutant of a Python source that still compiles."""
    source = Source(text)
    found = [source.mutant(path, place, change) for place, change in _changes(source)]
    return [one for one in found if one.new != one.segment]


def mutants_of_data(text: str, path: str) -> list[Mutant]:
    """Return mutants of a data file: a quoted text or a number blurred, a line dropped."""
    found: list[Mutant] = []
    offset, line = 0, 1
    for block in re.split(r"(?<=\n)(?=\n)", text):
        name = re.search(r"export (?:type|interface) (\w+)", block) or re.search(r'"([^"]+)"', block)
        last = line + block.count("\n")
        for one in block.splitlines(keepends=True):
            place = Place(name[1] if name else path, path, line, last, block)
            found += _data_changes(one, offset, Mutant(path, DROP, place, 0, 0, "", line, "", ""))
            offset += len(one.encode())
            line += one.endswith("\n")
    return found


def _data_changes(line: str, offset: int, model: Mutant) -> Iterator[Mutant]:
    def changed(operator: str, start: int, end: int, new: str) -> Mutant:
        before = len(line[:start].encode())
        after = len(line[:end].encode())
        return replace(
            model,
            operator=operator,
            start=offset + before,
            end=offset + after,
            new=new,
            segment=line[start:end],
            about=line[start:end],
        )

    if line.strip() and not line.lstrip().startswith(("#", "//", "*", "/*")):
        yield changed(DROP, 0, len(line.rstrip("\n")), "")
        for found in re.finditer(r'"((?:[^"\\]|\\.)*)"', line):
            yield changed(REWORD, found.start(), found.end(), f'"{found[1]}{MARK}"')
        for found in re.finditer(r"(?<=[=:,\[ ])\d+(?=[\],\s])", line):
            yield changed(BLUR, found.start(), found.end(), str(int(found[0]) + 1))


class Source:
    """A source text with the places of its nodes in bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.raw = text.encode()
        self.tree = ast.parse(text)
        self._starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends."""
        first, last = self._starts[node.lineno - 1], self._starts[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    def segment(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def lines(self, first: int, last: int) -> str:
        """Return whole lines."""
        return self.raw[self._starts[first - 1] : self._starts[last]].decode()

    def mutant(self, path: str, place: Place, change: Change) -> Mutant:
        """Return a change as a mutant of this text."""
        start, end = self.span(change.node)
        segment = self.segment(change.node)
        about = segment if change.about is None else change.about
        return Mutant(path, change.operator, place, start, end, change.new, change.node.lineno, segment, about)

    def part(self, node: ast.expr) -> str:
        """Return the text of a node so that it can stand inside another: with brackets unless it is simple."""
        text = self.segment(node)
        return f"({text})" if isinstance(node, NEEDS_BRACKETS) else text


# --- places ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    """What is around a statement: the qualified name, the module-level definition, and whether a function runs it."""

    owner: str = ""
    defines: str | None = None
    in_function: bool = False
    in_class: bool = False

    def enter(self, name: str, *, function: bool) -> Scope:
        """Return the scope inside a definition."""
        owner = f"{self.owner}.{name}" if self.owner else name
        return Scope(owner, self.defines or name, self.in_function or function, not function)


def _changes(source: Source) -> Iterator[tuple[Place, Change]]:
    yield from _changes_of_block(source, source.tree.body, Scope())


def _changes_of_block(source: Source, body: list[ast.stmt], scope: Scope) -> Iterator[tuple[Place, Change]]:
    for statement in body:
        if not _is_without_effect(statement):
            yield from _changes_of_statement(source, statement, scope)


def _changes_of_statement(source: Source, statement: ast.stmt, scope: Scope) -> Iterator[tuple[Place, Change]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _changes_of_function(source, statement, scope)
        return
    inner = scope.enter(statement.name, function=False) if isinstance(statement, ast.ClassDef) else scope
    place = _place(source, statement, inner)
    if _can_be_deleted(statement, scope):
        yield _place_of_block(statement, place), Change(DELETE, statement, "pass")
    if isinstance(statement, ast.AnnAssign) and scope.in_class and _is_required(statement):
        yield place, Change(LOOSEN, statement, _with_default(source, statement))
    if isinstance(statement, ast.Return) and not isinstance(statement.value, ast.Constant | None):
        yield place, Change(DELETE, statement, "return None")
    for root in _expressions(statement, scope):
        yield from ((place, change) for change in _changes_of_expression(source, root))
    for test in _conditions(statement):
        yield place, Change(NEGATE, test, f"not ({source.segment(test)})")
    for block in _blocks(statement):
        yield from _changes_of_block(source, block, inner)


def _changes_of_function(
    source: Source, function: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope
) -> Iterator[tuple[Place, Change]]:
    inner = scope.enter(function.name, function=True)
    head = source.lines(function.lineno, function.body[0].lineno)
    place = Place(inner.owner, None, function.body[0].lineno, function.end_lineno or function.lineno, head)
    if scope.in_class and any(_name_of(one) not in PLAIN_DECORATORS for one in function.decorator_list):
        start = function.decorator_list[0]
        whole = ast.copy_location(ast.Pass(), function)
        whole.lineno, whole.col_offset = start.lineno, start.col_offset - 1
        yield place, Change(DELETE, whole, "pass")
    defaults = [*function.args.defaults, *(one for one in function.args.kw_defaults if one is not None)]
    calls = [one for one in function.decorator_list if isinstance(one, ast.Call) and _name_of(one) != "dataclass"]
    for root in [*defaults, *calls]:
        yield from ((place, change) for change in _changes_of_expression(source, root))
    yield from _changes_of_block(source, function.body, inner)


def _place(source: Source, statement: ast.stmt, scope: Scope) -> Place:
    blocks = _blocks(statement)
    last = statement.end_lineno or statement.lineno
    if blocks and blocks[0]:
        last = max(statement.lineno, blocks[0][0].lineno - 1)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    name = targets[0].id if targets and isinstance(targets[0], ast.Name) else None
    named = not scope.in_function and name is not None
    owner = f"{scope.owner}.{name}" if named and scope.owner else (name if named else scope.owner) or "module"
    defines = None if scope.in_function else scope.defines or name or "module"
    return Place(owner, defines, statement.lineno, last, source.lines(statement.lineno, last))


def _place_of_block(statement: ast.stmt, place: Place) -> Place:
    """Where a statement with a block must be executed so that its deletion can matter: inside of the block."""
    blocks = _blocks(statement)
    inside = isinstance(statement, ast.If | ast.For) and blocks
    return replace(place, first=blocks[0][0].lineno, last=blocks[0][-1].end_lineno) if inside else place


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [one.body for one in getattr(statement, "handlers", [])]
    blocks += [one.body for one in getattr(statement, "cases", [])]
    return [block for block in blocks if block]


def _is_without_effect(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, an import, an assertion or something only type checkers read."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass | ast.Assert):
        return True
    if isinstance(statement, ast.Expr):
        value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
        return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and _is_logging(value))
    if isinstance(statement, ast.If):
        return _name_of(statement.test) == "TYPE_CHECKING"
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return any(_name_of(one) == "overload" for one in statement.decorator_list)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if any(isinstance(one, ast.Name) and one.id in WITHOUT_EFFECT for one in targets):
        return True
    return _is_table_of_modules(getattr(statement, "value", None))


def _is_table_of_modules(value: object) -> bool:
    """Whether a table says in which module each name is, so that every change of it breaks an import."""
    texts = [one.value for one in value.values if isinstance(one, ast.Constant)] if isinstance(value, ast.Dict) else []
    return bool(texts) and all(isinstance(one, str) and MODULE.fullmatch(one) for one in texts)


def _can_be_deleted(statement: ast.stmt, scope: Scope) -> bool:
    """Whether the rest still has the names it uses once the statement is gone."""
    if isinstance(statement, ast.AnnAssign):
        return (scope.in_class and not scope.in_function) or not isinstance(statement.target, ast.Name)
    if isinstance(statement, ast.Assign):
        return all(not isinstance(one, ast.Name | ast.Tuple) for one in statement.targets)
    if isinstance(statement, ast.If):
        return not statement.orelse and not _binds(statement)
    if isinstance(statement, ast.For):
        return not _binds(statement)
    return isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Delete)


def _is_required(field: ast.AnnAssign) -> bool:
    """Whether a field of a class has no default."""
    if isinstance(field.value, ast.Call):
        named = {one.arg for one in field.value.keywords}
        return _name_of(field.value) == "Field" and not field.value.args and named.isdisjoint(DEFAULTS)
    return field.value is None


def _with_default(source: Source, field: ast.AnnAssign) -> str:
    declared = f"{source.segment(field.target)}: {source.segment(field.annotation)}"
    if not isinstance(field.value, ast.Call):
        return f"{declared} = None"
    given = [f"{one.arg}={source.part(one.value)}" for one in field.value.keywords]
    return f"{declared} = {source.segment(field.value.func)}({', '.join(['default=None', *given])})"


def _binds(statement: ast.stmt) -> bool:
    inside = [node for block in _blocks(statement) for one in block for node in ast.walk(one)]
    return any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) for node in inside)


def _conditions(statement: ast.stmt) -> list[ast.expr]:
    return [statement.test] if isinstance(statement, ast.If | ast.While) else []


def _expressions(statement: ast.stmt, scope: Scope) -> list[ast.expr]:
    """Return the expressions of a statement that stand before its blocks."""
    found: list[ast.expr | None] = []
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            found = [test]
        case ast.For(iter=value) | ast.AsyncFor(iter=value) | ast.Return(value=value) | ast.Expr(value=value):
            found = [value]
        case ast.AugAssign(value=value) | ast.Raise(exc=value) | ast.Match(subject=value):
            found = [value]
        case ast.Assign(value=value, targets=targets):
            found = [value, *(one.slice for one in targets if isinstance(one, ast.Subscript))]
        case ast.AnnAssign(value=value, annotation=annotation):
            found = [value, None if scope.in_function else annotation]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            found = [one.context_expr for one in items]
        case ast.ClassDef(keywords=keywords):
            found = [one.value for one in keywords]
    if isinstance(statement, ast.Match):
        found += [one.guard for one in statement.cases]
        found += [node for one in statement.cases for node in ast.walk(one.pattern) if isinstance(node, ast.Constant)]
    return [one for one in found if one is not None]


# --- changes of expressions ------------------------------------------------------------------------------------------


def _changes_of_expression(source: Source, root: ast.expr) -> Iterator[Change]:
    for node in _walk(root):
        yield from _changes_of_node(source, node)


def _walk(node: ast.AST) -> Iterator[ast.expr]:
    """Every expression below a node, without what is only logged or only explains, and without parts of f-strings."""
    if isinstance(node, ast.Call) and _is_logging(node):
        return
    if isinstance(node, ast.expr):
        yield node
    if isinstance(node, ast.JoinedStr):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arguments) or (isinstance(child, ast.keyword) and child.arg in PROSE):
            continue
        yield from _walk(child)


def _changes_of_node(source: Source, node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Constant():
            yield from _blurred(node)
        case ast.JoinedStr():
            yield Change(REWORD, node, f'("{MARK}" + {source.segment(node)})')
        case ast.Compare(ops=[operator]) if type(operator) in OPPOSITE or type(operator) in BOUNDS:
            yield _compared(source, node)
        case ast.IfExp(test=test):
            yield Change(NEGATE, test, f"not ({source.segment(test)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Change(NEGATE, node, f"bool({source.segment(operand)})")
        case ast.comprehension():
            pass
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            tests = [test for one in node.generators for test in one.ifs]
            yield from (Change(NEGATE, test, f"(not ({source.segment(test)}))") for test in tests)
        case ast.Call():
            yield from _called(source, node)
        case _:
            yield from _dropped(source, node)


def _blurred(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool():
            yield Change(BLUR, node, str(not node.value))
        case int() | float():
            yield Change(BLUR, node, repr(node.value + 1))
        case str() | bytes():
            mark = MARK if isinstance(node.value, str) else MARK.encode()
            yield Change(REWORD, node, repr(node.value + mark))


def _compared(source: Source, node: ast.Compare) -> Change:
    kind = type(node.ops[0])
    operator, sign = (NEGATE, OPPOSITE[kind]) if kind in OPPOSITE else (SHIFT, BOUNDS[kind])
    return Change(operator, node, f"{source.part(node.left)} {sign} {source.part(node.comparators[0])}")


def _called(source: Source, node: ast.Call) -> Iterator[Change]:
    name = source.segment(node.func)
    given = [source.part(one) for one in node.args]
    words = [
        f"{one.arg}={source.part(one.value)}" if one.arg else f"**{source.part(one.value)}" for one in node.keywords
    ]
    for at, word in enumerate(words):
        if node.keywords[at].arg in PROSE:
            continue
        yield Change(DROP, node, f"{name}({', '.join([*given, *_without(words, at)])})", word)
    wraps = isinstance(node.func, ast.Name) and name.islower() and len(given) == 1 and not words
    if wraps and not isinstance(node.args[0], ast.GeneratorExp | ast.Starred | ast.Constant):
        yield Change(SKIP, node, f"({given[0]})")


def _dropped(source: Source, node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = [
                f"{source.part(key)}: {source.part(value)}" if key else f"**{source.part(value)}"
                for key, value in zip(keys, values, strict=True)
            ]
            yield from _without_each(node, pairs, "{", ", ", "}")
        case ast.List(elts=elements, ctx=ast.Load()):
            yield from _without_each(node, [source.part(one) for one in elements], "[", ", ", "]")
        case ast.Set(elts=elements) if len(elements) > 1:
            yield from _without_each(node, [source.part(one) for one in elements], "{", ", ", "}")
        case ast.Tuple(elts=elements, ctx=ast.Load()) if source.segment(node).startswith("("):
            end = ")" if len(elements) == 1 else ",)"
            yield from _without_each(node, [source.part(one) for one in elements], "(", ", ", end)
        case ast.Subscript(value=value, slice=ast.Tuple(elts=elements) as members) if _name_of(value) == "Literal":
            yield from _without_each(members, [source.part(one) for one in elements], "", ", ", "")
        case ast.BoolOp(values=values, op=operator):
            sign = " and " if isinstance(operator, ast.And) else " or "
            yield from _without_each(node, [source.part(one) for one in values], "(", sign, ")")
        case ast.BinOp(op=ast.BitOr(), left=left, right=ast.Constant(value=None)):
            yield Change(DROP, node, source.part(left), "None")
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            yield from _without_each(node, [source.part(left), source.part(right)], "(", " | ", ")")


def _without_each(node: ast.expr, texts: list[str], begin: str, sign: str, end: str) -> Iterator[Change]:
    for at, text in enumerate(texts):
        yield Change(DROP, node, begin + sign.join(_without(texts, at)) + end, text)


def _without(texts: list[str], at: int) -> list[str]:
    return [*texts[:at], *texts[at + 1 :]]


def _name_of(node: ast.expr) -> str:
    """Return the last name of a reference or of what is called."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _name_of(function)
    return ""


def _is_logging(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and _name_of(call.func.value).strip("_").lower() in LOGGERS
