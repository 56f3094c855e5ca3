"""Every package of the library exports its public names, and imports them only when used."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path

import pytest

from tests.factories.fresh_python import output_of

PACKAGES = (
    "sightline",
    "sightline.annotators",
    "sightline.combiners",
    "sightline.features",
    "sightline.feedback",
    "sightline.measures",
    "sightline.rankers",
    "sightline.regions",
    "sightline.similarity",
    "sightline.words",
)


def source_of(package: str) -> ast.Module:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def imported_for_type_checkers(package: str) -> dict[str, str]:
    """Return names imported under `TYPE_CHECKING`, and the module of each."""
    found: dict[str, str] = {}
    for node in ast.walk(source_of(package)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                assert isinstance(statement, ast.ImportFrom) and statement.module
                found |= {alias.name: statement.module for alias in statement.names}
    return found


def lazily_imported(package: str) -> dict[str, str]:
    """Return names that the package's `lazy` knows, and the module of each."""
    (call,) = (
        node
        for node in ast.walk(source_of(package))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy"
    )
    modules = ast.literal_eval(call.args[1])
    return {name: f"{package}.{module}" for module, names in modules.items() for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_people_and_python_see_the_same_names(package: str) -> None:
    table = lazily_imported(package)
    assert imported_for_type_checkers(package) == table
    module = importlib.import_module(package)
    assert set(table) <= set(module.__all__)
    if package not in ("sightline", "sightline.words"):
        assert set(table) == set(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_name_is_the_object_that_its_module_defines(package: str) -> None:
    for name, module in lazily_imported(package).items():
        value = getattr(importlib.import_module(package), name)
        assert value is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_hidden_by_a_module_of_the_same_name(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    (folder,) = spec.submodule_search_locations
    modules = {path.stem for path in Path(folder).iterdir()}
    assert not modules & set(lazily_imported(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Nonesuch'"):
        importlib.import_module(package).Nonesuch  # noqa: B018


def test_the_reference_lists_every_name_of_the_library() -> None:
    text = (Path(__file__).parent.parent / "docs" / "reference" / "library.md").read_text()
    for package in PACKAGES:
        if package in ("sightline", "sightline.words"):
            continue
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{package}` |"))
        listed = set(re.findall(r"`(\w+)`", row))
        assert listed == set(importlib.import_module(package).__all__), package


def test_importing_the_packages_imports_no_array_library() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print(*sys.modules)"
    imported = set(output_of(code).split())
    assert set(PACKAGES) <= imported
    assert not imported & {"numpy", "scipy", "numba", "sklearn", "lightgbm", "onnxruntime"}
