#!/usr/bin/env python3
"""Wraps an installed program: as a wheel, an npm package, an archive or the image of a container.

Each has the licences of what is linked into the program, and its bill of materials. `objects` has what is needed to
link the program again with a changed C library or nettle, as their licence (LGPL) demands.

Equal contents give equal bytes: members are sorted, owned by nobody, and as old as $SOURCE_DATE_EPOCH.

usage: scripts/release/pack.py wheel|npm|archive|image PREFIX OUT   (PREFIX: as `cmake --install --prefix` filled it)
       scripts/release/pack.py objects PREFIX OUT BUILD   (BUILD: the folder in which the program was made)
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
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import bill

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
VERSION = bill.VERSION
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


def documents(prefix):
    """{name: content} of the bill of materials and the licences."""
    folder = prefix / "share/doc/aggregate-power"
    paths = [folder / "LICENSE", folder / "aggregate-power.spdx.json", *sorted((folder / "LICENSES").glob("*"))]
    if not paths[1].exists():
        sys.exit(f"pack.py: {paths[1]}: no such file: run scripts/release/bill.py on the build folder before it is installed")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


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
    for name, content in documents(prefix).items():
        members.append((f"{info}/{'sboms/' if name.endswith('.json') else ''}{name}", content, False))
    members += [(f"{info}/METADATA", metadata().encode(), False),
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


def tar_of(members):
    """`members`: (name, content, mode); (name, target of a link, None); (name, None, mode) for a folder."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as file:
        for name, content, mode in sorted(members, key=lambda member: member[0]):
            member = tarfile.TarInfo(name)
            member.mtime, member.mode = EPOCH, 0o777 if mode is None else mode
            if mode is None:
                member.type, member.linkname = tarfile.SYMTYPE, content
            elif content is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(content)
            file.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return raw.getvalue()


def write_tar(path, members):
    path.write_bytes(gzip.compress(tar_of(members), 9, mtime=EPOCH))
    return path


def make_npm(prefix, out):
    package = {
        "name": "aggregate-power", "version": VERSION, "description": SUMMARY, "license": "SEE LICENSE IN LICENSE",
        "os": ["linux"], "cpu": [{"x86_64": "x64", "aarch64": "arm64"}[MACHINE]],
        "bin": {name: f"bin/{name}" for name in PROGRAMS}, "files": ["bin", "LICENSES", "aggregate-power.spdx.json"]}
    members = [(f"package/bin/{name}", content, 0o755) for name, content in programs(prefix).items()]
    members.append(("package/README.md", (ROOT / "README.md").read_bytes(), 0o644))
    members += [(f"package/{name}", content, 0o644) for name, content in documents(prefix).items()]
    members.append(("package/package.json", (json.dumps(package, indent=2) + "\n").encode(), 0o644))
    return write_tar(out / f"aggregate-power-{VERSION}.tgz", members)


def make_archive(prefix, out):
    top = f"aggregate-power-{VERSION}-linux-{MACHINE}"
    documents(prefix)
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


# ---- The image of a container: a layout of the Open Container Initiative, which Docker's own `load` reads as well.


def blob(content):
    return f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"


def described(content, kind):
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "size": len(content)}


def image_files(prefix):
    """The program and its licences: nothing else is in the image. Users mount their data at /data."""
    files = [(f"usr/share/doc/aggregate-power/{name}", content, 0o644) for name, content in documents(prefix).items()]
    files.append(("usr/bin/aggregate-power", programs(prefix)["aggregate-power"], 0o755))
    folders = {str(parent) for name, _, _ in files for parent in pathlib.PurePath(name).parents} - {"."}
    return files + [(name, None, 0o755) for name in folders | {"data"}] + [("tmp", None, 0o1777)]


def make_image(prefix, out):
    layer_tar = tar_of(image_files(prefix))
    layer = gzip.compress(layer_tar, 9, mtime=EPOCH)
    config = json.dumps({
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[MACHINE], "os": "linux",
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
        "config": {"Entrypoint": ["/usr/bin/aggregate-power"], "WorkingDir": "/data",
                   "Labels": {"org.opencontainers.image.title": "aggregate-power",
                              "org.opencontainers.image.version": VERSION}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer_tar).hexdigest()}"]}}).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described(config, "config.v1+json"), "layers": [described(layer, "layer.v1.tar+gzip")]}).encode()
    tag = f"aggregate-power:{VERSION}"
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [described(manifest, "manifest.v1+json")
                           | {"annotations": {"io.containerd.image.name": f"docker.io/library/{tag}",
                                              "org.opencontainers.image.ref.name": VERSION}}]}
    of_docker = [{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(layer)]}]
    members = [(blob(content), content, 0o644) for content in (layer, config, manifest)]
    for name, content in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", index), ("manifest.json", of_docker)):
        members.append((name, json.dumps(content).encode(), 0o644))
    path = out / f"aggregate-power-{VERSION}-image-{MACHINE}.tar"
    path.write_bytes(tar_of(members))
    return path


# ---- What the licences of the C library and of nettle demand: the program's own code, to be linked with others.


def is_replaceable(licence):
    return licence.startswith(("LGPL", "GPL-3.0-or-later WITH GCC-exception"))  # the latter come with the compiler


def own_inputs(build):
    """What the linker was given, in its order, without libraries under the LGPL and the compiler's own."""
    inputs = bill.loaded_files(build)
    owner = bill.owners({bill.real(path) for path in inputs if path.startswith("/")})
    stays = {name: not is_replaceable(bill.package_facts(name)["licence"]) for name in set(owner.values())}
    return [path for path in inputs if not path.startswith("/") or stays[owner[bill.real(path)]]]


def make_objects(prefix, out, build):
    with tempfile.TemporaryDirectory() as folder:
        merged = pathlib.Path(folder) / "aggregate-power.o"
        subprocess.run(["ld", "-r", "-o", merged, *own_inputs(build)], cwd=build, check=True)
        content = merged.read_bytes()
    top = f"aggregate-power-{VERSION}-linux-{MACHINE}-objects"
    members = [(f"{top}/aggregate-power.o", content, 0o644),
               (f"{top}/relink.sh", (HERE / "relink.sh").read_bytes(), 0o755)]
    members += [(f"{top}/{name}", content, 0o644) for name, content in documents(prefix).items()]
    return write_tar(out / f"{top}.tar.gz", members)


MAKERS = {"wheel": make_wheel, "npm": make_npm, "archive": make_archive, "image": make_image, "objects": make_objects}

if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in MAKERS or (len(sys.argv) == 5) != (sys.argv[1] == "objects"):
        sys.exit(__doc__)
    MAKERS[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
