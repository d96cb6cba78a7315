#!/usr/bin/env python3
"""What users install: a wheel, an npm package, an archive; each measures the run in testdata/runs/b200.

Its 8 GPUs use 4165.455 J in 1.5 s, of 1,000 output tokens (the arithmetic is in testdata/README.md).

usage: tests/scripts/release_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from running import run_tests  # noqa: E402  (beside the folders that share it)

PROGRAM = pathlib.Path(os.environ.get("AGGREGATE_POWER") or ROOT / "build/aggregate-power").resolve()
PACK = ROOT / "scripts/release/pack.py"
STAND_INS = ROOT / "tests/scripts/stand-ins"
ENERGY_J, TOKENS = 4165.455, 1000
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
    return staged.prefix


def packed(kind, folder, epoch=1_788_852_000):
    call(sys.executable, PACK, kind, staged(), folder, SOURCE_DATE_EPOCH=str(epoch))
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
    for kind in ("wheel", "npm", "archive"):
        made = []
        for name in ("one", "other"):
            (folder / kind / name).mkdir(parents=True)
            made.append(packed(kind, folder / kind / name).read_bytes())
            for path in staged().rglob("*"):  # built again, a year later
                os.utime(path, (1_820_000_000, 1_820_000_000), follow_symlinks=False)
        assert made[0] == made[1], kind


def test_release_refuses_what_it_cannot_make(folder):
    said = call("sh", ROOT / "scripts/release.sh", "rpm", status=2, cwd=folder).stderr
    assert "expected wheel, npm, archive or deb, got 'rpm'" in said, said


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


def test_recording_around_a_block(folder):
    power = module(PATH=f"{STAND_INS}:{os.environ['PATH']}")
    (folder / "bin").mkdir()
    (folder / "bin/aggregate-power-monitor").symlink_to(ROOT / "scripts/monitor.sh")
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    with power.record(folder / "gpu_metrics.csv", interval=0.2) as recording:
        assert recording.exists()
    lines = recording.read_text().splitlines()
    assert len(lines) > 1 and "power.draw" in lines[0], lines[:2]


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
