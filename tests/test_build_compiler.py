"""Which compiler is taken, and what is said when none is."""
import os
import stat

import pytest

from helpers.build import compiler
from helpers.errors import SetupError


def fake(folder, name, banner, code=0):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{banner}'\nexit {code}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A machine whose only programs are those of the test."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.delenv(compiler.OVERRIDE, raising=False)
    monkeypatch.setattr(compiler, "zig_command", lambda: None)
    return tmp_path


@pytest.mark.parametrize("name, banner, kind, version", [
    ("g++", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc", "12.2.0"),
    ("g++", "g++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", "gcc", "13.3.0"),
    ("clang++", "Ubuntu clang version 18.1.3 (1ubuntu1)", "clang", "18.1.3"),
    ("g++", "Apple clang version 15.0.0 (clang-1500.3.9.4)", "clang", "15.0.0"),
    ("clang++-16", "Debian clang version 16.0.6 (15~deb12u1)", "clang", "16.0.6"),
])
def test_finds_by_banner(alone, name, banner, kind, version):
    fake(alone, name, banner)
    found, _ = compiler.search()
    assert (found.kind, found.version) == (kind, version)


def test_old_compiler_is_passed_over_with_a_reason(alone):
    fake(alone, "g++", "g++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0")
    fake(alone, "clang++-15", "Ubuntu clang version 15.0.7")
    found, passed = compiler.search()
    assert str(found) == "clang++ 15.0.7"
    assert "9.4.0 is too old" in passed[0] and "12 or newer" in passed[0]


def test_none_at_all_says_what_to_install(alone):
    fake(alone, "g++", "g++ (Ubuntu 9.4.0) 9.4.0")
    with pytest.raises(SetupError) as raised:
        compiler.find()
    text = str(raised.value)
    assert "pip install ziglang" in text and "apt-get install g++" in text and "9.4.0 is too old" in text


def test_override_wins_and_is_not_ignored_when_it_fails(alone, monkeypatch):
    fake(alone, "g++", "g++ (Debian) 12.2.0")
    mine = fake(alone, "mine", "Debian clang version 16.0.6")
    monkeypatch.setenv(compiler.OVERRIDE, f"{mine} --target=x")
    assert compiler.search()[0].command == (str(mine), "--target=x")
    monkeypatch.setenv(compiler.OVERRIDE, "/nowhere/c++")
    found, passed = compiler.search()
    assert found is None and compiler.OVERRIDE in passed[0] and "could not be started" in passed[0]


def test_identity_changes_with_version(alone):
    fake(alone, "g++", "g++ (Debian) 12.2.0")
    first = compiler.search()[0].identity
    fake(alone, "g++", "g++ (Debian) 12.3.0")
    assert compiler.search()[0].identity != first


def test_the_real_one_compiles_half(tmp_path):
    source = tmp_path / "half.cpp"
    source.write_text("_Float16 f(_Float16 a, _Float16 b) { return a + b; }\n")
    done = compiler.find().run(["-std=c++17", "-c", source, "-o", tmp_path / "half.o"])
    assert done.returncode == 0, done.stdout
    assert os.path.getsize(tmp_path / "half.o") > 0
