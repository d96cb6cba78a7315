#!/usr/bin/env python3
"""What makes faults in memory harder to exploit is in the built program: its ELF headers, and its own functions.

usage: tests/scripts/hardening_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import functools
import os
import pathlib
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402  (beside the folders that share it)

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER") or ROOT / "build/aggregate-power").resolve()
# elf.h
ET_DYN, PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 3, 1, 2, 3, 0x6474E551, 0x6474E552
PF_X, PF_W = 1, 2
DT_BIND_NOW, DT_TEXTREL, DT_FLAGS, DT_FLAGS_1, DT_NEEDED = 24, 22, 30, 0x6FFFFFFB, 1
DT_RELASZ, DT_RELRSZ = 8, 35
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
EM_X86_64 = 62
OURS = "_ZN15aggregate_power"
LARGE_FRAME = 4096 + 64  # bytes: a frame of more pages is probed page by page


class Elf:
    """The headers of a file of 64 bits, little-endian, read by the format's own offsets."""

    def __init__(self, content):
        assert content[:6] == b"\x7fELF\x02\x01", content[:6]
        self.content = content
        self.kind, self.machine = struct.unpack_from("<HH", content, 16)
        at, = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        # type, flags, offset, address, physical address, bytes in the file, bytes in memory
        self.segments = [struct.unpack_from("<IIQQQQQ", content, at + i * size) for i in range(count)]

    def segment(self, kind):
        return next((segment for segment in self.segments if segment[0] == kind), None)

    def dynamic(self):
        _, _, at, _, _, size, _ = self.segment(PT_DYNAMIC)
        return dict(struct.unpack_from("<QQ", self.content, place) for place in range(at, at + size, 16))


@functools.cache
def elf():
    return Elf(PROGRAM.read_bytes())


@functools.cache
def functions():
    """{symbol: its instructions} of the program's own functions."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", PROGRAM], check=True,
                          capture_output=True, text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if line.endswith(">:"):
            name = line[line.index("<") + 1:-2]
            current = found.setdefault(name, []) if name.startswith(OURS) else None
        elif current is not None and "\t" in line:
            current.append(line.split("\t", 1)[1].strip())
    assert len(found) > 1000, len(found)
    return found


@functools.cache
def public_functions():
    """Those that others may call through a pointer: each is to begin with a landing place."""
    lines = subprocess.run(["nm", "--defined-only", PROGRAM], check=True, capture_output=True, text=True).stdout
    return [name for _, kind, name in map(str.split, lines.splitlines()) if kind in "TW" and name in functions()]


def test_it_is_static_and_moved_at_each_start(folder):
    assert elf().kind == ET_DYN and elf().segment(PT_INTERP) is None
    assert DT_NEEDED not in elf().dynamic() and elf().dynamic()[DT_FLAGS_1] & DF_1_PIE
    assert elf().segments[0][3] < 0x10000, "it has an address of its own"


def test_what_is_relocated_is_read_only_afterwards(folder):
    dynamic = elf().dynamic()
    assert dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW or DT_BIND_NOW in dynamic
    assert dynamic[DT_FLAGS_1] & DF_1_NOW
    _, _, _, relro, _, _, size = elf().segment(PT_GNU_RELRO)
    sections = subprocess.run(["readelf", "-SW", PROGRAM], check=True, capture_output=True, text=True).stdout
    for name in (".init_array", ".data.rel.ro", ".dynamic", ".got"):
        at, _, length = (int(word, 16) for word in re.search(rf" {re.escape(name)} +\S+ +(\S+) (\S+) (\S+)", sections).groups())
        assert relro <= at and at + length <= relro + size, name
    assert ".got.plt" not in sections, "a table of functions that stays writable"


def test_relocations_are_packed(folder):
    if elf().machine != EM_X86_64:
        return  # Debian 12's linker packs them only there
    packed, others = elf().dynamic()[DT_RELRSZ], elf().dynamic().get(DT_RELASZ, 0)
    assert 0 < packed < 16384 and others < 4096, (packed, others)


def test_nothing_is_writable_and_executable(folder):
    for kind, flags, *_ in elf().segments:
        assert kind not in (PT_LOAD, PT_GNU_STACK, PT_GNU_RELRO) or flags & (PF_W | PF_X) != PF_W | PF_X
    assert elf().segment(PT_GNU_STACK) is not None and DT_TEXTREL not in elf().dynamic()


def test_buffers_on_the_stack_are_guarded(folder):
    guarded = [name for name, body in functions().items() if any("__stack_chk_fail" in line for line in body)]
    assert len(guarded) > len(functions()) / 20, (len(guarded), len(functions()))


def test_calls_of_the_c_library_are_checked(folder):
    called = {name for body in functions().values() for line in body for name in re.findall(r"<(__\w+_chk)>", line)}
    assert called, "no function calls a checked one, such as __read_chk"


def test_indirect_calls_have_landing_places(folder):
    landing = ("endbr64",) if elf().machine == EM_X86_64 else ("bti", "paciasp", "hint")
    without = [name for name in public_functions() if not functions()[name][0].startswith(landing)]
    assert not without, without[:5]


def test_large_frames_are_probed(folder):
    if elf().machine != EM_X86_64:
        return  # there the compiler probes with any store
    probes = 0
    for name, body in functions().items():
        for line in body:
            size = re.match(r"sub +\$0x([0-9a-f]{1,8}),%rsp", line)
            assert not size or int(size[1], 16) <= LARGE_FRAME, (name, line)
            probes += line.startswith("orq    $0x0,(%rsp)")
    assert probes, "no function probes its frame"


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
