#!/usr/bin/env python3
"""What users install: a wheel, an npm package, an archive, an image; each measures the run in testdata/runs/b200.

Its 8 GPUs use 4165.455 J in 1.5 s, of 1,000 output tokens (the arithmetic is in testdata/README.md).

usage: tests/scripts/release_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import hashlib
import importlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402  (beside the folders that share it)

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER") or ROOT / "build/aggregate-power").resolve()
RELEASE = ROOT / "scripts/release"
PACK = RELEASE / "pack.py"
STAND_INS = ROOT / "tests/scripts/stand-ins"
VERSION = re.search(r"^project\(.* VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
ENERGY_J, TOKENS = 4165.455, 1000
EPOCH = 1_788_852_000
DOCUMENTS = "share/doc/aggregate-power"
MEASURE = ["measure", "run.json", "gpu_metrics.csv", "--timezone", "UTC", "--json"]


def call(*words, cwd=None, status=0, **env):
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True,
                          env={key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | env)
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    return done


def staged():
    """What `cmake --install` makes of the build folder; once for all tests."""
    if not hasattr(staged, "prefix"):
        staged.folder = tempfile.TemporaryDirectory()
        staged.prefix = pathlib.Path(staged.folder.name) / "usr"
        call("cmake", "--install", PROGRAM.parent, "--prefix", staged.prefix, "--strip")
        call(sys.executable, RELEASE / "bill.py", PROGRAM.parent, staged.prefix / DOCUMENTS, SOURCE_DATE_EPOCH=str(EPOCH))
    return staged.prefix


def packed(kind, folder):
    words = [PROGRAM.parent] if kind == "objects" else []
    call(sys.executable, PACK, kind, staged(), folder, *words, SOURCE_DATE_EPOCH=str(EPOCH))
    return sorted(path for path in folder.iterdir() if path.name != "install.sh")[0]


def run_of(folder):
    return shutil.copytree(ROOT / "testdata/runs/b200", folder / "run")


def measures(program, folder):
    run = json.loads(call(program, *MEASURE, cwd=run_of(folder)).stdout)["runs"][0]
    assert run["total_gpu_energy_j"] == ENERGY_J, run
    assert run["joules_per_output_token"] == ENERGY_J / TOKENS, run


def test_a_wheel_installs_without_a_network(folder):
    wheel = packed("wheel", folder)
    call(sys.executable, "-m", "venv", folder / "venv")
    call(folder / "venv/bin/pip", "install", "--no-index", "--disable-pip-version-check", wheel)
    measures(folder / "venv/bin/aggregate-power", folder)
    assert "usage" in call(folder / "venv/bin/aggregate-power-monitor", "--help").stdout
    said = call(folder / "venv/bin/python", "-c",
                "import aggregate_power as a; r = a.measure('run.json', 'gpu_metrics.csv', timezone='UTC')\n"
                "print(a.program(), r.valid, r['total_gpu_energy_j'])", cwd=folder / "run").stdout.split()
    assert said == [str(folder / "venv/bin/aggregate-power"), "True", str(ENERGY_J)], said


def test_an_npm_package_has_programs_for_its_platform(folder):
    package = packed("npm", folder)
    with tarfile.open(package) as file:
        file.extractall(folder)
    told = json.loads((folder / "package/package.json").read_text())
    assert told["os"] == ["linux"] and told["cpu"] in (["x64"], ["arm64"]), told
    assert sorted(told["bin"]) == ["aggregate-power", "aggregate-power-monitor"], told
    measures(folder / "package" / told["bin"]["aggregate-power"], folder)
    if shutil.which("npm"):
        call("npm", "install", "--offline", "--no-audit", "--no-fund", package, cwd=folder, HOME=str(folder))
        call(folder / "node_modules/.bin/aggregate-power", "--version")


def test_an_archive_installs_if_its_sum_is_right(folder):
    archive = packed("archive", folder)
    sums = call("sha256sum", archive.name, cwd=folder).stdout
    call("sh", folder / "install.sh", "--prefix", folder / "there", status=2)  # no sums
    (folder / "SHA256SUMS").write_text(sums)
    done = call("sh", folder / "install.sh", "--prefix", folder / "there")
    assert "add it to your PATH" in done.stdout, done.stdout
    measures(folder / "there/bin/aggregate-power", folder)
    for part in ("share/man/man1/aggregate-power.1", "share/doc/aggregate-power/LICENSE", "bin/aggregate-power-monitor"):
        assert (folder / "there" / part).exists(), part


def test_a_damaged_archive_is_not_installed(folder):
    archive = packed("archive", folder)
    (folder / "SHA256SUMS").write_text(call("sha256sum", archive.name, cwd=folder).stdout)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    said = call("sh", folder / "install.sh", "--prefix", folder / "there", status=1).stderr
    assert "nothing was installed" in said, said
    assert not (folder / "there").exists()


def test_equal_contents_give_equal_bytes(folder):
    for kind in ("wheel", "npm", "archive", "image"):
        made = []
        for name in ("one", "other"):
            (folder / kind / name).mkdir(parents=True)
            made.append(packed(kind, folder / kind / name).read_bytes())
            for path in staged().rglob("*"):  # built again, a year later
                os.utime(path, (1_820_000_000, 1_820_000_000), follow_symlinks=False)
        assert made[0] == made[1], kind


def test_release_refuses_what_it_cannot_make(folder):
    said = call("sh", ROOT / "scripts/release.sh", "rpm", status=2, cwd=folder).stderr
    assert "expected wheel, npm, archive, deb, image, objects or sources, got 'rpm'" in said, said
    assert "--check is for all: name none" in call("sh", ROOT / "scripts/release.sh", "--check", "wheel", status=2).stderr
    assert "--sign: expected the file" in call("sh", ROOT / "scripts/release.sh", "--sign", folder / "none", status=2).stderr


# What a build does, in no time: `content` is what its packages have in them.
STAND_IN_PACKER = """#!/bin/sh
case $1 in *pack.py) echo {content} >"$4/aggregate-power-{version}-$2" ;; esac
"""
STAND_IN_CMAKE = """#!/bin/sh
[ "$1" != -S ] || mkdir -p "$4"
"""
STAND_IN_CPACK = """#!/bin/sh
mkdir "$4" && echo deb >"$4/aggregate-power_{version}.deb"
"""


def checked_twice(folder, content, status):
    """What `release.sh --check` says where every package has `content`, as the shell evaluates it."""
    folder.chmod(0o755)  # the second build may be another user's
    (folder / "bin").mkdir(mode=0o755, exist_ok=True)
    for name, script in (("cmake", STAND_IN_CMAKE), ("cpack", STAND_IN_CPACK.format(version=VERSION)),
                         ("python3", STAND_IN_PACKER.format(content=content, version=VERSION))):
        (folder / "bin" / name).write_text(script)
        (folder / "bin" / name).chmod(0o755)
    return call("./release.sh", "--check", "--out", folder / "out", status=status, cwd=ROOT / "scripts",
                PATH=f"{folder / 'bin'}:{os.environ['PATH']}", SOURCE_DATE_EPOCH=str(EPOCH))


def test_a_check_finds_what_depends_on_the_build(folder):
    (folder / "out").mkdir()
    (folder / "out/aggregate-power-0.0.1-wheel").write_text("an earlier version")
    said = checked_twice(folder, "same", 0).stdout
    assert "two builds gave the same bytes" in said and f"aggregate-power_{VERSION}.deb" in said, said
    assert "0.0.1" not in (folder / "out/SHA256SUMS").read_text()
    for content in ("$PWD", "$HOME", "$TZ"):
        assert "two builds differ" in checked_twice(folder, content, 1).stderr, content
    assert (folder / "out/other/SHA256SUMS").exists()


# ---- The image, by the specification of the Open Container Initiative


def blob(folder, described):
    """The content that a descriptor names, once its digest and size are seen to be right."""
    content = (folder / "blobs/sha256" / described["digest"].removeprefix("sha256:")).read_bytes()
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == described["digest"] and len(content) == described["size"]
    return content


def unpacked_image(folder):
    """(configuration, folder of the root) of the image that is packed."""
    image = packed("image", folder)
    with tarfile.open(image) as file:
        file.extractall(folder / "layout")
    layout = folder / "layout"
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    manifest = json.loads(blob(layout, json.loads((layout / "index.json").read_text())["manifests"][0]))
    config, layer = json.loads(blob(layout, manifest["config"])), blob(layout, manifest["layers"][0])
    with tarfile.open(fileobj=io.BytesIO(layer)) as file:
        file.extractall(folder / "root")
    raw = subprocess.run(["gzip", "-dc"], input=layer, check=True, capture_output=True).stdout
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(raw).hexdigest()}"]
    docker = json.loads((layout / "manifest.json").read_text())[0]
    assert docker["Layers"] == ["blobs/sha256/" + manifest["layers"][0]["digest"].removeprefix("sha256:")]
    return config, folder / "root"


def test_an_image_has_only_the_program(folder):
    config, root = unpacked_image(folder)
    assert config["config"]["Entrypoint"] == ["/usr/bin/aggregate-power"] and config["os"] == "linux", config
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith(f"usr/{DOCUMENTS}/")} == {"usr/bin/aggregate-power"}, files
    shutil.copytree(ROOT / "testdata/runs/b200", root / "data", dirs_exist_ok=True)
    enter = ["chroot"] if os.getuid() == 0 else ["unshare", "-r", "chroot"]
    inputs = [f"/data/{word}" if word.endswith((".json", ".csv")) else word for word in MEASURE]
    run = json.loads(call(*enter, root, *config["config"]["Entrypoint"], *inputs).stdout)["runs"][0]
    assert run["total_gpu_energy_j"] == ENERGY_J, run


# What the machine allows a container: no resource limit above the caller's own, no cgroups of its own.
CONTAINER = ["run", "--rm", "--network", "none", "--read-only", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"]


def test_an_image_runs_in_a_container(folder):
    """By podman with any of its runtimes that works here; the test above runs the same root without one."""
    runtimes = [name for name in ("crun", "runc") if shutil.which(name)]
    if not shutil.which("podman") or not runtimes or os.getuid() != 0:
        print("SKIPPED the image in a container: it needs root, podman, and crun or runc")
        return
    podman = ["podman", "--storage-driver", "vfs", "--root", folder / "storage", "--runroot", folder / "state"]
    told = call(*podman, "load", "--input", packed("image", folder)).stdout.split()[-1]
    inputs = ["--volume", f"{run_of(folder)}:/data", "--workdir", "/data", told, *MEASURE]
    for runtime in runtimes:
        done = subprocess.run([*map(str, [*podman, "--runtime", runtime, *CONTAINER, *inputs])], capture_output=True, text=True)
        if done.returncode == 0:
            assert json.loads(done.stdout)["runs"][0]["total_gpu_energy_j"] == ENERGY_J, done.stdout
            return
    assert "aggregate-power:" not in done.stderr, done.stderr
    print(f"SKIPPED the image in a container: {done.stderr.strip()[-200:]}")


def test_other_programs_read_the_image(folder):
    if not shutil.which("skopeo"):
        return  # the digests are checked above
    image = packed("image", folder)
    for kind in ("oci-archive", "docker-archive"):
        told = json.loads(call("skopeo", "inspect", f"{kind}:{image}").stdout)
        assert told["Os"] == "linux" and len(told["Layers"]) == 1, told


# ---- What is in it, under which licences


def bill():
    return json.loads((staged() / DOCUMENTS / "aggregate-power.spdx.json").read_text())


def link_line():
    """The words with which the program was linked."""
    lines = call("ninja", "-C", PROGRAM.parent, "-t", "commands", "aggregate-power").stdout.splitlines()
    return next(line for line in reversed(lines) if " -o aggregate-power " in line).split()


def package_of(library):
    path = call("c++", f"-print-file-name=lib{library}.a").stdout.strip()
    return call("dpkg-query", "-S", os.path.realpath(path)).stdout.split(":")[0]


def test_the_bill_names_all_that_is_linked(folder):
    named = {package["name"] for package in bill()["packages"]}
    libraries = [word[2:] for word in link_line() if word.startswith("-l")]
    assert "archive" in libraries and "nettle" in libraries, libraries
    for library in [*libraries, "c", "stdc++", "gcc"]:
        assert package_of(library) in named, (library, package_of(library))
    assert {"nlohmann-json3-dev", "libcli11-dev", "libfmt-dev"} <= named, named  # they have headers only


def test_the_bill_refuses_what_no_package_has(folder):
    sys.path.insert(0, str(RELEASE))
    bill = importlib.import_module("bill")
    (folder / "libown.a").touch()
    try:
        bill.owners([bill.real("/usr/bin/dpkg-query"), str(folder / "libown.a")])
        raise AssertionError("a file that no package has was taken")
    except SystemExit as said:
        assert "libown.a" in str(said) and "its licence is unknown" in str(said), said


def test_the_bill_has_versions_licences_and_sums(folder):
    document = bill()
    for package in document["packages"]:
        assert package["licenseDeclared"] not in ("", "NOASSERTION") and package["versionInfo"], package
        if package["name"] != "aggregate-power":
            version = call("dpkg-query", "-W", "-f", "${Version}\n", package["name"]).stdout.split("\n")[0]
            assert package["versionInfo"] == version, package
    for file in document["files"]:
        sums = {one["algorithm"]: one["checksumValue"] for one in file["checksums"]}
        assert sums["SHA256"] == call("sha256sum", file["fileName"].removeprefix(".")).stdout.split()[0], file
    ids = [part["SPDXID"] for part in document["packages"] + document["files"]] + ["SPDXRef-DOCUMENT"]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids), ids
    for one in document["relationships"]:
        assert one["spdxElementId"] in ids and one["relatedSpdxElement"] in ids, one


def names_in(path):
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).namelist()
    with tarfile.open(path) as file:
        return file.getnames()


def test_each_artefact_has_the_bill_and_the_licences(folder):
    expected = {package["name"] for package in bill()["packages"]} - {"aggregate-power"}
    for kind in ("wheel", "npm", "archive", "objects"):
        (folder / kind).mkdir()
        names = names_in(packed(kind, folder / kind))
        found = {pathlib.PurePath(name).stem for name in names if "/LICENSES/" in name}
        assert expected | {"LGPL-2.1", "LGPL-3", "GPL-3"} <= found, (kind, expected - found)
        assert any(name.endswith("/aggregate-power.spdx.json") for name in names), kind
        assert any(name.endswith("/LICENSE") for name in names), kind


def test_the_program_can_be_linked_with_a_changed_library(folder):
    with tarfile.open(packed("objects", folder)) as file:
        file.extractall(folder)
    objects = next(folder.glob("*-objects"))
    mark = "nettle, as its user changed it"
    (folder / "mine").mkdir()
    (folder / "mine/changed.c").write_text(f'const char changed_nettle[] = "{mark}";\n')
    shutil.copyfile(call("c++", "-print-file-name=libnettle.a").stdout.strip(), folder / "mine/libnettle.a")
    call("cc", "-c", "changed.c", "-o", "changed.o", cwd=folder / "mine")
    call("ar", "q", "libnettle.a", "changed.o", cwd=folder / "mine")
    call("sh", objects / "relink.sh", folder / "power", f"-L{folder / 'mine'}", "-Wl,-u,changed_nettle")
    assert mark.encode() in (folder / "power").read_bytes()
    assert mark.encode() not in PROGRAM.read_bytes()
    measures(folder / "power", folder)


# ---- Signatures


def signed(folder, name="owner"):
    """An archive whose sums are signed with a key that was made for this."""
    archive = packed("archive", folder)
    (folder / "SHA256SUMS").write_text(call("sha256sum", archive.name, cwd=folder).stdout)
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name)
    call("sh", ROOT / "scripts/release.sh", "--sign", folder / name, "--out", folder)
    assert (folder / "SHA256SUMS.sig").exists()


def test_a_signed_archive_is_installed(folder):
    signed(folder)
    call("sh", folder / "install.sh", "--prefix", folder / "there", "--key", folder / "owner.pub")
    measures(folder / "there/bin/aggregate-power", folder)
    said = call("sh", folder / "install.sh", "--prefix", folder / "unchecked").stderr
    assert "the signature is not checked" in said, said


def test_what_another_key_signed_is_not_installed(folder):
    signed(folder)
    call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "other")
    install = ["sh", folder / "install.sh", "--prefix", folder / "there", "--key"]
    assert "not signed with" in call(*install, folder / "other.pub", status=1).stderr
    sums = folder / "SHA256SUMS"
    sums.write_text(sums.read_text() + "\n")
    assert "nothing was installed" in call(*install, folder / "owner.pub", status=1).stderr
    (folder / "SHA256SUMS.sig").unlink()
    assert "the sums are not signed" in call(*install, folder / "owner.pub", status=1).stderr
    assert not (folder / "there").exists()


# ---- The module, with the built program


def module(**env):
    os.environ.update({"AGGREGATE_POWER": str(PROGRAM)} | env)
    sys.path.insert(0, str(ROOT / "scripts/release/python"))
    return importlib.import_module("aggregate_power")


def test_the_module_says_what_the_program_says(folder):
    power, run = module(), run_of(folder)
    try:
        power.measure(folder / "none.json", run / "gpu_metrics.csv")
        raise AssertionError("a file that is not there was measured")
    except power.PowerError as error:
        assert error.status == 2 and "none.json: cannot open" in str(error), error
    try:
        power.measure(run / "run.json", run / "gpu_metrics.csv", no_such_option=3)
        raise AssertionError("an option that is not there was taken")
    except power.PowerError as error:
        assert error.status == 2 and "--no-such-option" in str(error), error


def test_a_run_that_is_not_valid_has_its_reasons(folder):
    power, run = module(), run_of(folder)
    refused = power.measure(run / "run.json", run / "gpu_metrics.csv", timezone="UTC", expected_num_gpus=9)
    assert not refused.valid and refused.reasons == ["expected_gpu_count_mismatch"], refused


def test_windows_and_comparisons(folder):
    power, run = module(), run_of(folder)
    (folder / "steps.txt").write_text("begin first 1788852019.6\nend first 1788852020.6\n")
    found = power.windows(run / "gpu_metrics.csv", folder / "steps.txt", timezone="UTC")
    assert [window["name"] for window in found["windows"]] == ["first"], found
    for side in ("base", "new"):
        for repeat in range(3):
            place = folder / side / f"agg_{repeat}.json"
            place.parent.mkdir(exist_ok=True)
            watts = 100 + repeat + (10 if side == "new" else 0)
            place.write_text(json.dumps({"hw": "h100", "conc": 4, "power_valid": 1, "avg_power_w": watts,
                                         "joules_per_output_token": watts / 100}))
    told = power.compare(folder / "base", folder / "new")
    assert told["verdict"] == "worse", told
    news = tuple((folder / "new").iterdir())
    assert power.compare((folder / "base",), news)["comparisons"] == told["comparisons"]


def test_recording_around_a_block(folder):
    power = module(PATH=f"{STAND_INS}:{os.environ['PATH']}")
    (folder / "bin").mkdir()
    (folder / "bin/aggregate-power-monitor").symlink_to(ROOT / "scripts/monitor.sh")
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    with power.record(folder / "gpu_metrics.csv", interval=0.2) as recording:
        assert recording.exists()
    lines = recording.read_text().splitlines()
    assert len(lines) > 1 and "power.draw" in lines[0], lines[:2]
    try:
        with power.record(folder / "other.csv", interval=0.2):
            subprocess.run([folder / "bin/aggregate-power-monitor", "stop", "--output", folder / "other.csv"], check=True)
            raise ValueError("the load failed")
    except ValueError:  # not the recorder's, which runs no more
        pass


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
