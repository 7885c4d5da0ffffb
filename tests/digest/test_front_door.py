"""The package's front door: every name is there, whatever was loaded before it."""

import subprocess
import sys

import aerogram.digest


def test_every_exported_name_is_there_and_says_what_it_is():
    assert len(set(aerogram.digest.__all__)) == len(aerogram.digest.__all__)
    for name in aerogram.digest.__all__:
        found = getattr(aerogram.digest, name)
        assert isinstance(found, str) or found.__doc__


def test_a_name_is_the_same_thing_when_its_module_was_loaded_first():
    program = (
        "import importlib, pkgutil, aerogram.digest as package\n"
        "for module in pkgutil.walk_packages(package.__path__, 'aerogram.digest.'):\n"
        "    importlib.import_module(module.name)\n"
        "print([name for name in package.__all__ if type(getattr(package, name)).__name__ == 'module'])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_loading_the_package_loads_no_model():
    program = "import sys, aerogram.digest; print('pydantic' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
