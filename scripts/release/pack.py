#!/usr/bin/env python3
"""Wraps an installed program: as a wheel, an npm package or an archive.

Equal contents give equal bytes: members are sorted, owned by nobody, and as old as $SOURCE_DATE_EPOCH.

usage: scripts/release/pack.py wheel|npm|archive PREFIX OUT   (PREFIX: as `cmake --install --prefix` filled it)
"""
import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import sys
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
MACHINE = platform.machine()
SUMMARY = "The energy of a GPU benchmark: joules per token, with an interval, from power telemetry"
PROGRAMS = ("aggregate-power", "aggregate-power-monitor")


def has_interpreter(program):
    """Of an ELF file of 64 bits: whether a header of type PT_INTERP names a loader of shared libraries."""
    def number(at, size):
        return int.from_bytes(program[at:at + size], "little")
    first, size, count = number(32, 8), number(54, 2), number(56, 2)
    return any(number(first + i * size, 4) == 3 for i in range(count))


def programs(prefix):
    found = {name: (prefix / "bin" / name).read_bytes() for name in PROGRAMS}
    if has_interpreter(found["aggregate-power"]):
        sys.exit("pack.py: the program needs shared libraries: build it with -DAGGREGATE_POWER_STATIC=ON")
    return found


# ---- A wheel: its programs go to the folder of scripts as they are, and need no Python to start.


def metadata():
    return (f"Metadata-Version: 2.1\nName: aggregate-power\nVersion: {VERSION}\nSummary: {SUMMARY}\n"
            "License-File: LICENSE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
            + (ROOT / "README.md").read_text())


def wheel_tags():
    # A static program runs with every C library; both names say so to pip.
    return [f"py3-none-manylinux2014_{MACHINE}", f"py3-none-musllinux_1_1_{MACHINE}"]


def wheel_members(prefix):
    """(name, content, is_program), RECORD last."""
    info, data = f"aggregate_power-{VERSION}.dist-info", f"aggregate_power-{VERSION}.data/scripts"
    members = [(f"{data}/{name}", content, True) for name, content in programs(prefix).items()]
    for path in sorted((HERE / "python/aggregate_power").glob("*")):
        if path.is_file():
            members.append((f"aggregate_power/{path.name}", path.read_bytes(), False))
    tags = "".join(f"Tag: {tag}\n" for tag in wheel_tags())
    members += [(f"{info}/METADATA", metadata().encode(), False),
                (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), False),
                (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: pack.py\nRoot-Is-Purelib: false\n{tags}".encode(), False)]
    members.sort()
    lines = []
    for name, content, _ in members:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    record = f"{info}/RECORD"
    return members + [(record, "".join([*lines, f"{record},,\n"]).encode(), False)]


def make_wheel(prefix, out):
    tag = f"py3-none-manylinux2014_{MACHINE}.musllinux_1_1_{MACHINE}"
    path = out / f"aggregate_power-{VERSION}-{tag}.whl"
    at = time.gmtime(max(EPOCH, 315532800))[:6]  # a ZIP knows no time before 1980
    with zipfile.ZipFile(path, "w") as file:
        for name, content, is_program in wheel_members(prefix):
            member = zipfile.ZipInfo(name, at)
            member.create_system = 3  # Unix, whose modes the next line has
            member.external_attr = (0o100755 if is_program else 0o100644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, content, compresslevel=9)
    return path


# ---- Archives


def write_tar(path, members):
    """`members`: (name, content, mode), or (name, target of a link, None)."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as file:
        for name, content, mode in sorted(members):
            member = tarfile.TarInfo(name)
            member.mtime = EPOCH
            if mode is None:
                member.type, member.linkname = tarfile.SYMTYPE, content
                file.addfile(member)
                continue
            member.mode, member.size = mode, len(content)
            file.addfile(member, io.BytesIO(content))
    path.write_bytes(gzip.compress(raw.getvalue(), 9, mtime=EPOCH))
    return path


def make_npm(prefix, out):
    package = {
        "name": "aggregate-power", "version": VERSION, "description": SUMMARY, "license": "SEE LICENSE IN LICENSE",
        "os": ["linux"], "cpu": [{"x86_64": "x64", "aarch64": "arm64"}[MACHINE]],
        "bin": {name: f"bin/{name}" for name in PROGRAMS}, "files": ["bin"]}
    members = [(f"package/bin/{name}", content, 0o755) for name, content in programs(prefix).items()]
    for name in ("README.md", "LICENSE"):
        members.append((f"package/{name}", (ROOT / name).read_bytes(), 0o644))
    members.append(("package/package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644))
    return write_tar(out / f"aggregate-power-{VERSION}.tgz", members)


def make_archive(prefix, out):
    top = f"aggregate-power-{VERSION}-linux-{MACHINE}"
    members = []
    for path in prefix.rglob("*"):
        name = f"{top}/{path.relative_to(prefix)}"
        if path.is_symlink():
            members.append((name, os.readlink(path), None))
        elif path.is_file():
            members.append((name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644))
    installer = out / "install.sh"
    installer.write_bytes((HERE / "install.sh").read_bytes())
    installer.chmod(0o755)
    return write_tar(out / f"{top}.tar.gz", members)


MAKERS = {"wheel": make_wheel, "npm": make_npm, "archive": make_archive}

if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in MAKERS:
        sys.exit(__doc__)
    MAKERS[sys.argv[1]](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
