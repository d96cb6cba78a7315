#!/usr/bin/env python3
"""Checks 'aggregate-power bundle --redact' by the bytes of what it writes: what must not be there, and what must.

* Short names, in every form that marks them, and unrelated words that contain them.
* Addresses, MACs, UUIDs and serials in every spelling; the words for 70,000 of each are different, and addresses.
* Names that are also words: models, GPUs and members stay, the names go.
* Every recording of testdata: the recorder that is recognized, and every published digit, are the same after redaction.

usage: tests/store/redaction_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import csv
import io
import ipaddress
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in (ROOT / "tests", ROOT / "tests" / "store"):
    sys.path.insert(0, str(place))
from bundle_test import DATA, METRICS, PROGRAM, START, elsewhere, expanded, extracted, published, run, same  # noqa: E402
from running import load_result, run_tests, some_of  # noqa: E402

RESULT = load_result(START + 4, START + 24)


def recording(hosts=("",), extra=lambda host, gpu: {}):
    """One GPU for each host and index, with more columns."""
    rows = []
    for second in range(30):
        for h, host in enumerate(hosts):
            for gpu in (0, 1):
                rows.append({"timestamp": START + second, **({"hostname": host} if host else {}), "index": gpu,
                             **extra(host, gpu), "power.draw [W]": f"{300 + 20 * h + 7 * gpu + second % 3}.25"})
    out = io.StringIO()
    table = csv.DictWriter(out, rows[0], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue()


def redacted(folder, result=None, context=None, table=None, gpus=2, aggregate=None, files=None):
    """The files of a redacted bundle that holds elsewhere, with the same digits, by name."""
    here = folder / "run"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    (here / "gpu_metrics.csv").write_text(table or recording())
    (here / "gpu_metrics_context.json").write_text(json.dumps({"timestamp_timezone": "UTC", **(context or {})}))
    (here / "run.json").write_text(json.dumps({**RESULT, **(result or {})}, ensure_ascii=False))
    (here / "agg_run.json").write_text(json.dumps(aggregate or {"hw": "h100"}))
    for name, content in (files or {}).items():
        (here / name).write_text(content)
    run(folder, "--csv", here / "gpu_metrics.csv", "--bench-result", here / "run.json", "--agg-result", here / "agg_run.json",
        "--expected-num-gpus", gpus)
    assert json.loads((here / "agg_run.json").read_text())["power_valid"] == 1
    run(folder, "bundle", "run", "--out", "x.bundle.tar.zst", "--redact")
    assert f"(redacted): {METRICS} numbers of 1 run" in run(elsewhere(folder, "x.bundle.tar.zst"), "verify", "x.bundle.tar.zst").stdout
    read = folder / "read"
    shutil.rmtree(read, ignore_errors=True)
    same(published(here), published(extracted(folder / "x.bundle.tar.zst", read)))
    return {name.removeprefix("files/"): content.decode() for name, content in expanded(folder / "x.bundle.tar.zst").items()}


def without(files, *patterns):
    for name, content in files.items():
        for pattern in patterns:
            found = re.search(pattern, content)
            assert not found, f"{name}: {pattern}: {content[max(0, found.start() - 60):found.end() + 60]!r}"


# ---- Names

FORMS = """ssh {user}@{host} -p 22
rsync {host}:/scratch/x {user}@{host}.hpc.acme.test:y
curl http://{host}:8000/v1 https://{user}:s3@{host}:9400/metrics
serve --host {host} --user {user} --hostname={host}
cd ~{user}/x; ls /home/{user} /Users/{user}/y /mnt/home/{user} C:\\Users\\{user}\\z
USER={user} HOSTNAME={host} LOGNAME="{user}" SLURM_JOB_NODELIST={host}[01-04,07]
{host}:29500 answered
<hostname>{host}</hostname>
{{"host": "{host}", "user": "{user}"}} {{'node': '{host}'}}
"""


def names_left(content, user, host):
    """Where a name is still marked as one."""
    user, host = re.escape(user), re.escape(host)
    return re.findall(rf"\b{user}@|@{host}\b|//{host}\b|\b{host}:\d{{4}}|\b{host}:/\w|(?:home|Users)[/\\]{user}\b|~{user}\b|"
                      rf"\b{host}\.hpc|(?:USER|LOGNAME|HOSTNAME|LIST|host|user|hostname|node)(?:=|>|[\"']: |\s)[\"']?(?:{host}|{user})\b", content)


def test_names_of_any_length_in_every_form(folder):
    for user, host in (("al", "n1"), ("x", "a"), ("bo", "b2-x"), ("qwen", "gpu"), ("max", "H100"), ("power", "node"),
                       ("index", "gpu1"), ("tp", "vllm"), ("carol.m", "cluster"), ("jdoe", "gb-07")):
        text = FORMS.format(user=user, host=host)
        assert len(names_left(text, user, host)) > 15, names_left(text, user, host)
        files = redacted(folder, gpus=4, table=recording((host, "zz"), lambda h, g: {"user": user, "name": "NVIDIA H100 80GB HBM3"}), result={
            "hostname": host, "user": user, "log": text, "args": ["--host", host, "--user", user],
            "env": [{"name": "HOSTNAME", "value": host}], "resource": [{"key": "host.name", "value": {"stringValue": host}}],
            "node": {"name": host}, "nodes": {host: {"state": "up"}}, "owner": {"id": user}, "model": "Qwen/Qwen3-32B"})
        assert "Qwen/Qwen3-32B" in files["run.json"] and "NVIDIA H100 80GB HBM3" in files["gpu_metrics.csv"]
        for name, content in files.items():
            same([], names_left(content.replace('\\"', '"'), user, host))
            end = "/\\d" if "validation" in name else "(?:/\\d)?"  # a record has words of its own
            found = re.findall(rf'"(?:{re.escape(user)}|{re.escape(host)}){end}"(?!: ?[{{"])', content)
            assert not found, f"{name}: {found}: {content[:3000]}"
        rows = list(csv.DictReader(io.StringIO(files["gpu_metrics.csv"])))
        assert not {host, user} & {row[key] for row in rows for key in ("hostname", "user")}
        same(2, len({row["hostname"] for row in rows}))
        same(list(csv.DictReader(io.StringIO(recording((host, "zz"), lambda h, g: {"user": "", "name": ""}))))[0].keys(), rows[0].keys())


UNRELATED = "final n1-standard-8 nominal a1 total 1n1 0.1 n/a al dente; 80 tok/s at x86, gpu 3 of node 2, H100-80GB, al_pha, max_len=9"


def test_unrelated_words_stay(folder):
    for user, host in (("al", "n1"), ("s", "n"), ("a", "h"), ("gpu", "max"), ("tok", "h100"), ("ms", "node")):
        files = redacted(folder, gpus=4, table=recording((host, "zz")), result={
            "user": user, "note": UNRELATED, "max_concurrency": 4, "tok_s": 50.25, "node_count": 1,
            "model": f"org/{'Max' if host == 'max' else 'Tok'}-7B"})
        result = json.loads(files["run.json"])
        same((UNRELATED, 4, 50.25, 1), (result["note"], result["max_concurrency"], result["tok_s"], result["node_count"]))
        assert result["user"] != user


def test_numbers_are_no_names(folder):
    """A user or serial of digits, and what has as many digits."""
    table = recording(extra=lambda h, g: {"serial": f"30000{g}", "tokens_per_user": "12.345678", "energy": 300000 + g})
    files = redacted(folder, table=table, result={"user": "100000", "total": 100000, "text_total": "100000 of 300001", "gpu_serial": 300001})
    rows = list(csv.DictReader(io.StringIO(files["gpu_metrics.csv"])))
    same({"300000", "300001"}, {row["energy"] for row in rows})
    same({"12.345678"}, {row["tokens_per_user"] for row in rows})
    assert not {"300000", "300001"} & {row["serial"] for row in rows}
    result = json.loads(files["run.json"])
    same((100000, "100000 of 300001"), (result["total"], result["text_total"]))
    assert result["user"] != "100000" and result["gpu_serial"] != 300001


def test_names_with_blanks_and_secrets(folder):
    files = redacted(folder, result={
        "author": "Jane Q Doe", "owner": "ACME\\jdoe", "password": "hunter", "env": {"HF_TOKEN": "hf_x", "WANDB_API_KEY": "0af3"},
        "text_log": "by Jane Q Doe, jdoe; HF_TOKEN=hf_x curl https://jdoe:pw9@h7.acme.test/x; cat file:///projects/moonshot/x"})
    without(files, "Jane", "Doe", "jdoe", "ACME", "hunter", "hf_x", "0af3", "pw9", "h7", "acme", "moonshot")


def test_columns_of_quoted_cells_and_later_tables(folder):
    """A separator in quotes, a host that is named as a column, and another table after the first."""
    table = recording(("node", "q7"), lambda h, g: {"name": 'the "big" one, SXM' if g else "H100, SXM", "user": "zo"})
    later = "".join(f"# {i}\n" for i in range(80)) + "timestamp,index,power.draw [W],node,login\n2026-04-25 12:30:00,7,300.5,k9,vi\n"
    files = redacted(folder, gpus=4, table=table, files={"gpu_metrics_identity.csv": later})
    without({"csv": files["gpu_metrics.csv"]}, ",q7,", ",zo,", ",node,\\d")
    if "gpu_metrics_identity.csv" in files:
        without({"csv": files["gpu_metrics_identity.csv"]}, ",k9,", ",vi\n")


def test_names_in_texts_of_texts(folder):
    """JSON in JSON, lists of variables, shares, and what services call their keys."""
    inner = json.dumps({"host": "qq7", "user": "dd8"})
    files = redacted(folder, result={
        "meta": json.dumps({"hostname": "zed9", "more": inner}), "env": ["HOSTNAME=kk3", "USER=carolx"], "share": "\\\\PCX77\\x",
        "nodes": [{"name": "k17", "ip": "10.3.3.3"}], "users": {"dorax": {"n": 1}}, "SLURM_JOB_NODELIST": "rz-[1-3],rackz9",
        "line": "export GITHUB_TOKEN=ghp_1234 X=1; curl -H 'Authorization: Bearer sk-abc123def456'; rz-2 and rackz9 of dorax"})
    without(files, "qq7", "dd8", "zed9", "kk3", "carolx", "PCX77", "k17", "10.3.3", "dorax", "rz", "rackz", "ghp_", "sk-abc")


def test_columns_of_other_forms(folder):
    """Semicolons, CRLF, a byte order mark, comments before the header, addresses for hosts."""
    table = recording(("n1", "n2"))
    for change in (lambda text: text.replace(",", ";"), lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text,
                   lambda text: "# host: n1, user: al\n# started by al@n1\n" + text):
        files = redacted(folder, gpus=4, table=change(table))
        without({"csv": files["gpu_metrics.csv"]}, r"\bn[12]\b", r"\bal@")
    files = redacted(folder, gpus=4, table=recording(("10.0.0.1:9400", "10.0.0.2:9400")).replace("hostname", "instance"))
    without(files, "10[.]0[.]0")


def test_long_texts_take_no_longer_than_they_are_long(folder):
    for part in ("a: ", "user=", "host=", 'host="', "://", "a@", "aa:", "aa-", "::", "1.", "--host ", "<a>", "/a", "/home/", "n[0-", "'host': '"):
        redacted(folder, result={"user": "al", "log": part * (200_000 // len(part))})  # within the time limit of run()


def test_tables_that_blanks_separate(folder):
    """Numbers of the same columns stay; words of a text with as many words are no columns."""
    rows = [("n77", "0", "301.25", "carolx"), ("n78", "100000", "7", "dave-y")]
    for head in ("hostname  gpu   power  user", "# host gpu pwr user", "#NODELIST GPUS   watts  JobOwner", "Runner   gpu  W   launched_by"):
        lines = [head, *(f"{a:>8}  {b:>6}\t  {c}   {d}".replace("\t", "") for a, b, c, d in rows), "n77 at 3 by carolx"]
        files = redacted(folder, result={"log": "x"}, files={"gpu_metrics_identity.csv": "\n".join(lines) + "\n"})
        left = files["gpu_metrics_identity.csv"]
        without({head: left}, "n7[78]", "carolx", "dave")
        same([["0", "301.25"], ["100000", "7"]], [line.split()[1:3] for line in left.splitlines()[1:3]])
    prose = "the user started\nand then 3 ended\n4 of them\nserving on node alpha\nwith 8 GPUs here\n"
    same(prose, redacted(folder, files={"gpu_metrics_identity.csv": prose})["gpu_metrics_identity.csv"])


def test_fields_of_people_and_machines_in_any_case(folder):
    for key in ("runner", "runner_name", "RUNNER_NAME", "runnerName", "hostName", "HostName", "HOST_NAME", "host-name", "Host Name", "nodeName",
                "launched_by", "launchedBy", "submitted_by", "SubmittedBy", "job owner", "Job Owner", "jobOwner", "job_owner", "userName", "computerName"):
        files = redacted(folder, result={key: "zedx9", "log": f"{key}: zedx9\nthen zedx9 ended" if " " in key else f"{key}=zedx9"})
        without(files, "zedx9")


def test_ssh_keys_and_their_comments(folder):
    key, hashed = "AAAAC3NzaC1lZDI1NTE5AAAAI" + "Qz9/+x" * 8, "SHA256:" + "uNiVztksCsDhcc0u9e8BgrJXVGDaQ3+/x9wqwcNFNeA"
    for line in (f"ssh-ed25519 {key} alicex@nodex7", f"ecdsa-sha2-nistp256  {key} alicex@nodex7.acme.test", f"256 {hashed} alicex@nodex7 (ED25519)",
                 f"debug1: Offering public key: alicex@nodex7 ED25519 {hashed} agent; 256 {hashed} alicex@nodex7"):
        files = redacted(folder, result={"log": line, "note": "sk-lear AAAA then, SHA256: 7 of 8"})
        without(files, "alicex", "nodex7", "acme", "Qz9", "uNiVzt", "wqwcNF")
        same("sk-lear AAAA then, SHA256: 7 of 8", json.loads(files["run.json"])["note"])


# ---- Addresses and numbers of devices

ADDRESSES = """node-10.1.2.3 node_10.1.2.4 (10.1.2.5) ip-10-1-2-6 ip-10-1-2-7.ec2.internal ec2-10-1-2-8.compute.example 10.1.2.9:80
[fe80::1:2%eth0] fe80::aa%eth0 ::ffff:10.1.2.10 64:ff9b::10.1.2.11 fd00:12:: 2a01:4f8:0:1:2:3:4:5 [2a01:4f8::5]:8000 host.10.1.2.12 x=::fe12:3
aa-bb-cc-dd-ee-ff aabb.ccdd.ee01 AA:BB:CC:DD:EE:02 00-50-56-01-23-45 aa:bb:cc:dd:ee:ff:00:11 80:00:02:08:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:aa:bb:cc
GPU-4f6e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b GPU-4f6e1a2b MIG-7c1e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b MIG-GPU-4f6e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b/7/0 GPU-5a5b5c5d
4F6E1A2B-9C3D-4E5F-8A9B-0C1D2E3F4A5B"""
ADDRESS_PARTS = [r"\b10\.1\.2\.", r"10-1-2-", "fe80::(1|aa)", "64:ff9b", "fd00:", "2a01:", "fe12:", "(?i)aa[-:]bb", r"(?i)aabb\.", "00-50-56", "0c:42:a1",
                 "(?i)4f6e1a2b", "7c1e1", "5a5b5", "(?i)0c1d2e3f4a5b", "02:08:fe"]
NO_ADDRESSES = ("127.0.0.1 0.0.0.0 ::1 std::vector a::b::c driver 550.54.15 vbios 96.00.74.00.01 12:30:45 2026-04-25-10-20-30 run-26-04-25-10-20-30 "
                "2026.0425.1030 v1.2.3 cuda-12.4 300.1.2.3 i-0123456789abcdef0 node[01-04,07] job 123456")


def test_addresses_in_every_spelling(folder):
    for where in ("result", "context"):
        files = redacted(folder, **{where: {"log": ADDRESSES, "more": NO_ADDRESSES, "list": ADDRESSES.split(), "command": "x " + ADDRESSES.replace("\n", " ; ")}})
        without(files, *ADDRESS_PARTS)
        content = json.loads(files["run.json" if where == "result" else "gpu_metrics_context.json"])
        same(NO_ADDRESSES, content["more"])
        log = content["log"].split()
        same(len(ADDRESSES.split()), len(log))
        words = dict(zip(ADDRESSES.split(), log))
        # One device, one word, in each spelling.
        uuid = words["GPU-4f6e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b"].removeprefix("GPU-")
        same([uuid, f"MIG-GPU-{uuid}/7/0", f"GPU-{uuid[:8]}"],
             [words[each] for each in ("4F6E1A2B-9C3D-4E5F-8A9B-0C1D2E3F4A5B", "MIG-GPU-4f6e1a2b-9c3d-4e5f-8a9b-0c1d2e3f4a5b/7/0", "GPU-4f6e1a2b")])
        # Still addresses.
        for before, pattern in (("node-10.1.2.3", r"node-(.*)"), ("(10.1.2.5)", r"\((.*)\)"), ("10.1.2.9:80", "(.*):80"), ("[fe80::1:2%eth0]", r"\[(.*)%eth0\]"),
                                ("::ffff:10.1.2.10", "(.*)"), ("64:ff9b::10.1.2.11", "(.*)"), ("fd00:12::", "(.*)"), ("2a01:4f8:0:1:2:3:4:5", "(.*)"),
                                ("[2a01:4f8::5]:8000", r"\[(.*)\]:8000")):
            ipaddress.ip_address(re.fullmatch(pattern, words[before])[1])
        assert words["::ffff:10.1.2.10"].startswith("::ffff:")
        for before in ("aa-bb-cc-dd-ee-ff", "aabb.ccdd.ee01", "AA:BB:CC:DD:EE:02"):
            same(re.sub("[0-9A-Fa-f]", "x", before), re.sub("[0-9A-Fa-f]", "x", words[before]))


def test_words_are_different_for_any_count(folder):
    for count in (150, 300, some_of([70000])[0]):
        macs = [f"ac:de:48:{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x}" for i in range(count)]
        addresses = [f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(count)]
        long = [f"fd00:77::{i >> 16:x}:{i & 0xffff:x}" for i in range(count)]
        uuids = [f"{i:08x}-9c3d-4e5f-8a9b-0c1d2e3f4a5b" for i in range(count)]
        serials = [f"SER{i:07d}" for i in range(count)]
        files = redacted(folder, result={"m": macs, "a": addresses, "l": long, "u": uuids, "serial": serials, "hosts": [f"nd{i}" for i in range(count)]})
        result = json.loads(files["run.json"])
        for key in ("m", "a", "l", "u", "serial", "hosts"):
            same((key, count), (key, len(set(result[key]))))
        assert not set(result["m"]) & set(macs) and all(re.fullmatch("02(:[0-9a-f]{2}){5}", each) for each in result["m"])
        for key, kind in (("a", ipaddress.IPv4Address), ("l", ipaddress.IPv6Address)):
            assert count == len({kind(each) for each in result[key]})
        # In the order of the names, for readers that sort them.
        for key, names in (("m", macs), ("a", addresses), ("u", uuids), ("serial", serials)):
            same([word for _, word in sorted(zip(names, result[key]))], sorted(result[key]))
        without({"run.json": files["run.json"]}, "fd00:77", "ac:de:48", "SER0", "-9c3d-", r'"nd\d')


# ---- Every recording of testdata

def inspected(path):
    done = subprocess.run([PROGRAM, "inspect", path.name, "--json"], cwd=path.parent, capture_output=True, text=True, timeout=60)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return None
    return found if done.returncode == 0 and isinstance(found, dict) and found.get("devices") else None


def recordings():
    endings = (".csv", ".json", ".jsonl", ".log", ".txt", ".xml", ".yaml", ".tsv", ".gz", ".zst")
    names = ("agg_", "power_validation", "run.json", "context", "windows", "expected", "stdout", "stderr")
    return [path for path in sorted(DATA.rglob("*")) if path.is_file() and path.name.endswith(endings) and not any(name in path.name for name in names)]


def aggregate(folder):
    return {key: value for key, value in json.loads((folder / "agg_run.json").read_text()).items() if not isinstance(value, str)}


def numbers_of(found):
    return sorted((each["samples"], each["mean_w"], each["min_w"], each["max_w"]) for each in found["devices"])


def test_recordings_stay_what_they_are(folder):
    read = valid = 0
    for i, path in enumerate(some_of(recordings())):
        here = folder / str(i)
        here.mkdir()
        shutil.copy(path, here)
        before = inspected(here / path.name)
        if before is None:
            continue
        read += 1
        start = max(each["first_unix"] for each in before["devices"])
        end = min(each["last_unix"] for each in before["devices"])
        if end - start < 0.1:
            continue
        start, end = start + (end - start) / 8, end - (end - start) / 8
        (here / "run.json").write_text(json.dumps({**RESULT, "benchmark_start_time_unix": start, "benchmark_end_time_unix": end, "duration": end - start}))
        (here / "agg_run.json").write_text("{}")
        run(here, "--csv", path.name, "--bench-result", "run.json", "--agg-result", "agg_run.json", "--expected-num-gpus", len(before["devices"]))
        done = subprocess.run([PROGRAM, "bundle", ".", "--redact", "--out", "../x.tar.zst"], cwd=here, capture_output=True, text=True)
        if done.returncode:  # what is refused says why, and is not written
            assert done.returncode == 2 and ("is not text" in done.stderr or "archive" in done.stderr), f"{path}: {done.stderr}"
            continue
        run(folder, "verify", "x.tar.zst")
        after = extracted(folder / "x.tar.zst", folder / f"{i}-read")
        same((path, aggregate(here)), (path, aggregate(after)))
        valid += json.loads((here / "agg_run.json").read_text()).get("power_valid", 0)
        found = inspected(after / path.name)
        assert found, path
        for key in ("schema", "timestamp_column", "power_unit", "timezone", "rows"):
            same((path, key, before.get(key)), (path, key, found.get(key)))
        same((path, numbers_of(before)), (path, numbers_of(found)))
    print(f"{read} recordings read, {valid} of them published")
    assert read and valid


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
