#!/usr/bin/env python3
"""Tests 'report' on the real binary, and its pages in a real browser (Debian's chromium).

With QUICK=1 the tests in the browser, marked with @in_browser, are left out.

Expected places and numbers come from the runs that the tests write, by their own arithmetic.

usage: tests/reporting/report_test.py [TEST...]   with $AGGREGATE_POWER (default: build/aggregate-power)
"""
import base64
import hashlib
import html
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from browser import Picture, browser  # noqa: E402
from report_store import Run, write_limits, write_store  # noqa: E402
from running import QUICK, run_tests  # noqa: E402

PROGRAM = str(pathlib.Path(os.environ.get("AGGREGATE_POWER", ROOT / "build" / "aggregate-power")).resolve())
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
GOLDEN = ROOT / "testdata" / "report"
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
T_OF_2 = 4.302653  # Student's t, 0.975, two degrees of freedom; from tables
BROWSER = None
IN_BROWSER = []


def in_browser(test):
    IN_BROWSER.append(test.__name__)
    return test


def report(folder, *arguments, status=0):
    done = subprocess.run([PROGRAM, "report", *map(str, arguments)], cwd=folder, env=ENVIRONMENT, capture_output=True,
                          timeout=300)
    assert done.returncode == status, (done.returncode, done.stdout[-500:], done.stderr)
    return done


def page_of(folder, *arguments):
    """The path of the report, and its elements: the page is well-formed XML."""
    path = pathlib.Path(folder) / "report.html"
    report(folder, *arguments, "--out", "report.html")
    return path, ET.fromstring(path.read_bytes())


def table_of_runs(page):
    tables = [table for table in page.iter(XHTML + "table") if table.get("id") == "runs" or "runs" in table.get("class", "")]
    assert len(tables) == 1 and tables[0].get("id") == "runs" and tables[0].get("class") == "runs"
    return tables[0]


def rows_of_runs(page):
    """The texts of each run, by the keys of the columns."""
    table = table_of_runs(page)
    keys = [head.get("data-k") for head in table.find(XHTML + "thead").iter(XHTML + "th")]
    return [dict(zip(keys, ("".join(cell.itertext()) for cell in row))) for row in table.find(XHTML + "tbody")]


def chart(page, name):
    return next(svg for svg in page.iter(SVG + "svg") if svg.get("id") == name)


def ticks(svg, anchor):
    """Values and places of the ticks of an axis, of labels with that anchor."""
    found = []
    for text in svg.iter(SVG + "text"):
        if text.get("class") == "muted number" and text.get("text-anchor") == anchor:
            found.append((float(text.text), float(text.get("x" if anchor == "middle" else "y")) - (0 if anchor == "middle" else 4)))
    return found


def reader(svg, anchor):
    """From a place in pixels to a value, by the ticks alone: linear, or logarithmic if that fits."""
    marks = ticks(svg, anchor)
    assert len(marks) >= 3, marks
    for scale, back in ((float, float), (math.log, math.exp)):
        if scale is math.log and min(value for value, _ in marks) <= 0:
            continue
        (first, at_first), (last, at_last) = ((scale(value), place) for value, place in (marks[0], marks[-1]))
        slope = (last - first) / (at_last - at_first)
        if all(abs((scale(value) - first) / slope + at_first - place) < 0.6 for value, place in marks):
            return lambda place: back(first + (place - at_first) * slope)
    raise AssertionError(f"ticks are neither linear nor logarithmic: {marks}")


def dots(svg):
    """Tooltip, place and tag of each dot."""
    for group in svg.iter(SVG + "g"):
        circle = group.find(SVG + "circle")
        if group.get("data-tag") is not None and group.get("class") != "none":
            yield (group.find(SVG + "title").text, float(circle.get("cx")), float(circle.get("cy")), group)


def curve_of(path):
    """Columns, each with the two heights from the bottom, of the data of a small curve."""
    columns = {}
    for x, y in re.findall(r"[ML](\d+) (\d+)", path):
        columns.setdefault(int(x), []).append(63 - int(y))
    return columns


def visible():
    return BROWSER.run("return [...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden).length")


def hashes(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file()}


# ---- One file that needs nothing else


def test_the_page_is_one_file_with_one_script(folder):
    write_store(folder / "store", 20)
    path, page = page_of(folder, "store")
    text = path.read_text()
    without_namespaces = re.sub(r'xmlns="[^"]*"', "", text).replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in without_namespaces and "https:" not in without_namespaces
    assert not re.search(r"<(link|img|iframe|object|embed|base)\b", text) and "@import" not in text and "url(http" not in text
    scripts = list(page.iter(XHTML + "script"))
    assert len(scripts) == 1 and not scripts[0].attrib
    inside = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    assert len(inside.encode()) < 12 * 1024, len(inside)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    policy = next(meta.get("content") for meta in page.iter(XHTML + "meta") if meta.get("http-equiv"))
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy
    assert not re.search(r'\son[a-z]+="', text)
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids)), ids


def test_the_table_has_a_row_for_each_run(folder):
    runs = write_store(folder / "store", 50)
    _, page = page_of(folder, "store")
    rows = rows_of_runs(page)
    assert len(rows) == 50
    for run, row in zip(runs, rows):
        assert row["run"] == f"{run.name}/agg_{run.name}.json" and row["hw"] == run.members["hw"]
        if run.reasons:
            assert row["valid"] == "not valid: sampling_gap_exceeded"
            assert row["joules_per_output_token"] == row["avg_power_w"] == row["total_gpu_energy_j"] == "–"
        else:
            assert row["valid"] == "valid"
            assert abs(float(row["joules_per_output_token"]) / run.joules - 1) < 6e-4
            assert abs(float(row["total_gpu_energy_j"]) * 1000 / run.energy - 1) < 6e-4
            assert abs(float(row["avg_power_w"]) / run.watts - 1) < 6e-4
            assert abs(float(row["output_tput_per_gpu"]) / (run.tokens / 300 / 8) - 1) < 6e-4


def test_a_file_name_that_all_runs_share_is_left_out(folder):
    for number in range(3):
        run = Run(number)
        run.name = "result"
        run.write(folder / "store" / f"conc_{number}").rename(folder / "store" / f"conc_{number}" / "node")
    _, page = page_of(folder, "store")
    table = table_of_runs(page)
    cells = [row[0] for row in table.find(XHTML + "tbody")]
    assert ["".join(cell.itertext()) for cell in cells] == [f"conc_{number}/node" for number in range(3)]
    # A line breaks after a separator; the figure that counts comes next, and one hardware needs no column.
    assert [[part.tail for part in cell.iter(XHTML + "wbr")] for cell in cells][0] == ["0/", "node"]
    keys = [head.get("data-k") for head in table.iter(XHTML + "th")]
    assert keys[:2] == ["run", "joules_per_output_token"] and "hw" not in keys
    assert json.loads(table.get("data-shared"))["m.hw"] == "h100"


def test_links_lead_to_the_records(folder):
    write_store(folder / "a store", 3)
    (folder / "pages").mkdir()
    report(folder, "a store", "--out", "pages/report.html")
    page = ET.fromstring((folder / "pages" / "report.html").read_bytes())
    links = [link.get("href") for link in table_of_runs(page).iter(XHTML + "a")]
    assert len(links) == 3
    for link in links:
        target = folder / "pages" / urllib.parse.unquote(link)
        assert json.loads(target.read_text())["power_valid"] is True, link


def test_the_same_runs_give_the_same_bytes(folder):
    write_store(folder / "store", 30, telemetry=True)
    first = report(folder, "store", "--out", "-").stdout
    assert first == report(folder, "store", "--out", "-").stdout
    report(folder, "store", "--out", "report.html")
    assert (folder / "report.html").read_bytes() == first


def test_no_input_is_changed_or_overwritten(folder):
    write_store(folder / "store", 2)
    before = hashes(folder)
    for out in ("store/run_00000/agg_run_00000.json", "store/run_00000/power_validation_run_00000.json"):
        done = report(folder, "store", "--out", out, status=2)
        assert b"exists already, and is not an HTML page: give another file" in done.stderr, done.stderr
    done = report(folder, "store", "--out", "store", status=2)
    assert b"is a folder" in done.stderr
    done = report(folder, "store", "--out", "none/report.html", status=2)
    assert done.stderr and hashes(folder) == before
    report(folder, "store", "--out", "report.html")
    (folder / "report.html").chmod(0o640)
    report(folder, "store", "--out", "report.html")  # an earlier page is replaced
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o640
    (folder / "empty").touch()
    report(folder, "store", "--out", "empty")


def test_wrong_use_is_answered(folder):
    for arguments, words in ((["store", "--out", "r.html"], b"store"), (["--out", "r.html"], b"STORE"), (["x"], b"--out"),
                             (["x", "--out", "r.html", "--curves", "-1"], b"all, none or a whole number from 0")):
        assert words in report(folder, *arguments, status=2).stderr
        assert not (folder / "r.html").exists()
    (folder / "nothing").mkdir()
    done = report(folder, "nothing", "--out", "r.html", status=1)
    assert b"no run was found" in done.stderr
    assert len(rows_of_runs(ET.fromstring((folder / "r.html").read_bytes()))) == 0


def test_a_folder_without_power_is_reported_in_one_command(folder):
    shutil.copytree(ROOT / "testdata" / "store", folder / "artifacts")
    before = hashes(folder / "artifacts")
    done = report(folder, "artifacts", "--out", "report.html")
    assert done.stdout == b"aggregate-power: 5 runs, 3 valid -> report.html\n"
    assert b"4 runs had no power yet: computed for this report, not written" in done.stderr and hashes(folder / "artifacts") == before
    rows = rows_of_runs(ET.fromstring((folder / "report.html").read_bytes()))
    told = {row["run"].split("/")[0]: (row["valid"], row["joules_per_output_token"]) for row in rows}
    # The numbers are those that backfill then writes.
    subprocess.run([PROGRAM, "backfill", "artifacts"], cwd=folder, env=ENVIRONMENT, capture_output=True, check=True)
    for name in ("bmk_qwen_tp2_conc4", "power_audit_llama_tp2_conc8"):
        aggregate = json.loads(next((folder / "artifacts" / name).glob("agg_*.json")).read_text())
        assert told[name][0] == "valid, not written"
        assert abs(float(told[name][1]) / aggregate["joules_per_output_token"] - 1) < 1e-3
    assert told["power_audit_llama_tp2_conc16"] == ("not valid: sampling_gap_exceeded", "–")
    assert told["bmk_qwen_tp2_conc2"] == ("no power: benchmark_result_missing", "–")
    report(folder, "artifacts", "--out", "report.html")
    again = rows_of_runs(ET.fromstring((folder / "report.html").read_bytes()))
    assert {row["run"].split("/")[0]: row["joules_per_output_token"] for row in again} == {k: v[1] for k, v in told.items()}


# ---- The answer

def test_runs_computed_into_the_temporary_folder_are_still_computed(folder):
    """What lies there was put there by anybody, under any name that a report used before."""
    shutil.copytree(ROOT / "testdata" / "store", folder / "artifacts")
    shutil.make_archive(str(folder / "zips" / "run"), "zip", folder / "artifacts")
    (folder / "temporary").mkdir()
    there = {**ENVIRONMENT, "TMPDIR": str(folder / "temporary")}

    def valid():
        done = subprocess.run([PROGRAM, "report", "zips", "--out", "report.html"], cwd=folder, env=there, capture_output=True)
        return done.stdout, os.listdir(folder / "temporary")
    first = valid()
    assert first == (b"aggregate-power: 5 runs, 3 valid -> report.html\n", []), first
    subprocess.run([PROGRAM, "backfill", "zips", "--output", "temporary/aggregate-power-report"], cwd=folder, env=there, capture_output=True)
    assert valid()[0] == first[0]


def test_a_long_table_without_a_csv_names_none(folder):
    runs = [{"hw": "h100", "model": "m", "conc": n, "power_metric_schema_version": 2, "power_valid": 1, "joules_per_output_token": 2.0}
            for n in range(1, 503)]
    (folder / "runs.json").write_text(json.dumps(runs))
    page = "".join(page_of(folder, "runs.json")[1].itertext())
    for text in re.findall(r"The first 500 of \d+ rows; ([^.]*)\.", page):
        assert text in ("the CSV has all", "name fewer files to see others"), text


def test_the_best_configuration_is_named_as_compare_has_it(folder):
    for number in range(6):
        joules = (0.8 if number < 3 else 1.0) * (1 + (number % 3 - 1) * 0.004)
        Run(number, joules=joules, precision="fp8" if number < 3 else "bf16").write(folder / ("a" if number < 3 else "b"))
    Run(6, joules=0.1, precision="fp4", reasons=["sampling_gap_exceeded"]).write(folder / "a")
    path, page = page_of(folder, "a", "b")
    text = " ".join("".join(next(part for part in page.iter(XHTML + "p") if part.get("class") == "answer").itertext()).split())
    half = T_OF_2 * 0.004 / math.sqrt(3)
    told = re.fullmatch(r"Least energy of 2 configurations: precision=fp8, ([\d.]+) ± ([\d.]+) J/output token, n = 3. The next, precision=bf16, "
                        r"uses ([\d.]+) % more \(([\d.]+) to ([\d.]+) %, 95 %\): ([\d.]+) ± ([\d.]+), n = 3.", text)
    assert told, text
    best, best_half, change, low, high, following, following_half = map(float, told.groups())
    assert best == 0.8 and following == 1 and change == 25
    assert abs(best_half / (0.8 * half) - 1) < 0.05 and abs(following_half / half - 1) < 0.05
    done = subprocess.run([PROGRAM, "compare", "a", "--with", "b", "--match-by", "model"], cwd=folder, env=ENVIRONMENT,
                          capture_output=True, text=True)
    told = map(float, re.search(r"\+([\d.]+) %  \+([\d.]+) % to \+([\d.]+) %", done.stdout).groups())
    assert all(abs(one - other) <= 0.05 + 1e-9 for one, other in zip(told, (change, low, high))), (done.stdout, text)


def test_configurations_of_other_work_are_not_compared(folder):
    for number, model in enumerate(("llama-8b", "llama-8b", "llama-70b")):
        Run(number, joules=1.0 + number, model=model, tp=number).write(folder / "store")
    _, page = page_of(folder, "store")
    texts = ["".join(part.itertext()) for part in page.iter(XHTML + "p") if part.get("class") == "answer"]
    assert len(texts) == 2 and texts[0].startswith("model=llama-70b: Least energy: ")
    assert texts[1].startswith("model=llama-8b: Least energy of 2 configurations: ")
    assert "100.00 % more; without repeats or stated intervals nothing says whether that is real" in texts[1], texts


# ---- Points


def test_points_are_where_the_runs_are(folder):
    runs = [run for run in write_store(folder / "store", 75) if not run.reasons]
    _, page = page_of(folder, "store")
    groups = {}
    for run in runs:
        groups.setdefault((run.members["hw"], run.members["conc"]), []).append(run)
    for name, speed in (("energy-chart", lambda run: run.members["median_intvty"]),):
        svg = chart(page, name)
        x_of, y_of = reader(svg, "middle"), reader(svg, "end")
        found = list(dots(svg))
        assert len(found) == len(groups) == 25
        for tooltip, x, y, group in found:
            hardware, concurrency = re.match(r"(\S+) .*conc=(\d+)", tooltip).groups()
            repeats = groups[hardware, int(concurrency)]
            mean = sum(run.joules for run in repeats) / len(repeats)
            mean_speed = sum(map(speed, repeats)) / len(repeats)
            assert tooltip.endswith(f", n = {len(repeats)}")
            # A pixel is at most 1.5 % on these axes.
            assert abs(y_of(y) / mean - 1) < 0.01 and abs(x_of(x) / mean_speed - 1) < 0.01, tooltip
            if len(repeats) == 3:
                half = T_OF_2 * 0.004 * mean / math.sqrt(3)  # the repeats are 0.4 % apart
                shown = float(re.search(r"± ([0-9.]+) J/output token", tooltip).group(1))
                assert abs(shown / half - 1) < 0.06, tooltip


def test_error_bars_have_the_length_of_the_interval(folder):
    for number, joules in enumerate((0.8, 1.0, 1.2)):
        Run(number, joules=joules).write(folder / "store")
    _, page = page_of(folder, "store")
    svg = chart(page, "energy-chart")
    (tooltip, x, y, group), = dots(svg)
    low, high = (1 + sign * T_OF_2 * 0.2 / math.sqrt(3) for sign in (-1, 1))
    assert "1.00 ± 0.50 J/output token" in tooltip and tooltip.endswith("n = 3")
    bar = next(path.get("d") for path in group.iter(SVG + "path") if re.match(rf"M{x:g} [\d.]+l0-", path.get("d")))
    bottom, height = (float(number) for number in re.match(r"M[\d.]+ ([\d.]+)l0-([\d.]+)", bar).groups())
    y_of = reader(svg, "end")
    assert abs(y_of(bottom) - low) < 0.01 and abs(y_of(bottom - height) - high) < 0.01


def test_a_single_run_has_the_interval_of_its_record_or_none(folder):
    stated, bare = Run(0, concurrency=16, joules=1.0), Run(1, concurrency=64, joules=0.5)
    spread = {"low": 0.9, "high": 1.1, "standard_uncertainty": 0.05}
    stated.record_more = {"uncertainty": {"joules_per_output_token": {
        **spread, "repeatability": {"low": 0.98, "high": 1.02, "standard_uncertainty": 0.0102}}}}
    stated.write(folder / "store")
    bare.write(folder / "store")
    _, page = page_of(folder, "store")
    told = {"conc=16": "1.000 ± 0.020 J", "conc=64": "0.5000 (± unknown) J"}
    for tooltip, _, _, group in dots(chart(page, "energy-chart")):
        load = re.search(r"conc=\d+", tooltip).group()
        assert told[load] in tooltip, tooltip
        assert len(group.findall(SVG + "path")) == (1 if load == "conc=16" else 0)
    assert rows_of_runs(page)[0]["joules_per_output_token"] == "1.000 (0.980 to 1.020)"


def test_copies_are_no_repeats(folder):
    for name in ("a", "b", "c"):
        Run(7).write(folder / "store" / name)
    path, page = page_of(folder, "store")
    (tooltip, *_), = dots(chart(page, "energy-chart"))
    assert tooltip.endswith("n = 1") and "2 runs are copies" in path.read_text()
    assert len(rows_of_runs(page)) == 3


def test_what_is_missing_is_left_out_and_never_zero(folder):
    Run(0).write(folder / "store")
    without = Run(1, concurrency=64)
    del without.members["median_intvty"]
    without.write(folder / "store")
    no_counts = Run(2, concurrency=256)
    no_counts.write(folder / "store", has_record=False)
    _, page = page_of(folder, "store")
    svg = chart(page, "energy-chart")
    assert sorted(re.search(r"conc=(\d+)", tooltip).group(1) for tooltip, *_ in dots(svg)) == ["16", "256"]
    assert "1 configurations do not state both axes" in " ".join(page.itertext())
    rows = rows_of_runs(page)
    assert rows[1]["median_intvty"] == "–" and rows[2]["duration_s"] == "–" and rows[2]["output_tput_per_gpu"] == "–"


def test_runs_that_are_not_valid_are_listed_with_reasons_and_not_drawn(folder):
    Run(0).write(folder / "store")
    Run(1, reasons=["sampling_gap_exceeded", "insufficient_power_samples"]).write(folder / "store")
    doubtful = Run(2, concurrency=64).write(folder / "store")
    aggregate = doubtful / "agg_run_00002.json"
    aggregate.write_text(aggregate.read_text().replace('"joules_per_output_token": 0.8', '"joules_per_output_token": 0.1'))
    absurd = Run(3, concurrency=64).write(folder / "store", has_record=False)
    aggregate = absurd / "agg_run_00003.json"
    aggregate.write_text(aggregate.read_text().replace('"joules_per_output_token": 0.8', '"joules_per_output_token": 1e308'))
    path, page = page_of(folder, "store")
    assert len(list(dots(chart(page, "energy-chart")))) == 1
    section = next(part for part in page.iter(XHTML + "section") if part.get("id") == "validity")
    text = " ".join(section.itertext())
    assert "sampling_gap_exceeded" in text and "insufficient_power_samples" in text and "aggregate and record differ" in text
    assert "a number that no run can have" in text and "above 10^15" in text
    rows = rows_of_runs(page)
    assert rows[1]["valid"] == "not valid: sampling_gap_exceeded, insufficient_power_samples"
    assert rows[2]["valid"].startswith("not valid: 'joules_per_output_token' is 0.1")
    assert rows[3]["valid"] == "not valid: 'joules_per_output_token' is 1e+308, which no run can have"
    assert [row["joules_per_output_token"] for row in rows[1:]] == ["–"] * 3


def test_cost_and_carbon_have_columns(folder):
    run = Run(0)
    run.write(folder / "store")
    Run(1, reasons=["sampling_gap_exceeded"]).write(folder / "store")
    _, page = page_of(folder, "store", "--pue", "1.2", "--price", "0.3", "--currency", "<EUR>", "--carbon", "400")
    heads = ["".join(head.itertext()) for head in table_of_runs(page).iter(XHTML + "th")]
    assert "cost (<EUR>)" in heads and "facility (kJ)" in heads and "gCO2e" in heads
    good, bad = rows_of_runs(page)
    kwh = run.energy * 1.2 / 3.6e6
    for key, wanted in (("facility_energy_j", run.energy * 1.2 / 1000), ("cost", kwh * 0.3), ("carbon_gco2e", kwh * 400)):
        assert abs(float(good[key]) / wanted - 1) < 6e-4, (key, good[key], wanted)
        assert bad[key] == "–"


def test_group_by_names_the_members_that_count(folder):
    for number in range(4):
        Run(number, concurrency=16, joules=1.0, tp=number % 2, seed=number).write(folder / "store")
    _, page = page_of(folder, "store")
    assert sorted(tooltip[-5:] for tooltip, *_ in dots(chart(page, "energy-chart"))) == ["n = 2", "n = 2"]
    _, page = page_of(folder, "store", "--group-by", "hw, conc")
    assert [tooltip[-5:] for tooltip, *_ in dots(chart(page, "energy-chart"))] == ["n = 4"]
    _, page = page_of(folder, "store", "--group-by", "seed")
    assert len(list(dots(chart(page, "energy-chart")))) == 4


def test_each_chart_says_what_it_shows_and_has_its_numbers(folder):
    runs = write_store(folder / "store", 15)
    write_limits(folder / "limits")
    _, page = page_of(folder, "store", "limits")
    charts = [svg for svg in page.iter(SVG + "svg") if svg.get("class") == "chart"]
    assert len(charts) == 1 + 4
    frames = [frame for part in page.iter(XHTML + "div") if part.get("class") == "charts" for frame in part]
    for svg, frame in zip(charts, frames):
        text = " ".join(frame.itertext())
        for words in ("GPU boards", " as ", "report", "Source: ", "95 %"):
            assert words in text, (words, text)
        assert svg.find(SVG + "title").text and svg.find(SVG + "desc").text
        axes = [one.text for one in svg.iter(SVG + "text") if one.get("class") is None]
        assert sum(bool(re.search(r"\(.+\)$", axis or "")) for axis in axes) >= 2, axes  # a unit on each axis
    figures = list(page.iter(XHTML + "figure"))
    assert len(figures) == 2
    for figure in figures:
        table = next(figure.iter(XHTML + "table"))
        link = next(link for link in figure.iter(XHTML + "a") if link.get("download"))
        assert link.get("download").endswith(".csv") and link.get("href").startswith("data:text/csv")
        lines = urllib.parse.unquote(link.get("href").split(",", 1)[1]).split("\r\n")[:-1]
        cells = ["".join(cell.itertext()) for cell in table.find(XHTML + "thead").iter(XHTML + "th")]
        assert lines[0] == ",".join(cells)
        assert len(lines) == 1 + len(table.find(XHTML + "tbody"))
    assert runs


# ---- Power limits


def test_a_sweep_over_limits_is_drawn_with_its_recommendation(folder):
    write_limits(folder / "limits")
    path, page = page_of(folder, "limits")
    names = ["Throughput", "Temperature", "Utilization", "Energy"]  # all windows have 300 s: no chart of time
    for i, name in enumerate(names):
        svg = chart(page, f"limits-1-{i + 1}")
        assert svg.find(SVG + "title").text == f"{name} against limit"
        assert sum(circle.get("class") == "ink" for circle in svg.iter(SVG + "circle")) == 1  # the ring
    svg = chart(page, "limits-1-4")
    x_of, y_of = reader(svg, "middle"), reader(svg, "end")
    circles = [circle for circle in svg.iter(SVG + "circle") if circle.get("class") != "ink"]
    found = {round(x_of(float(circle.get("cx")))): y_of(float(circle.get("cy"))) for circle in circles}
    assert set(found) == {300, 400, 500, 600, 700}
    for limit, joules in found.items():
        assert abs(joules - (1 + ((limit - 500) / 400) ** 2)) < 0.005, (limit, joules)
    ring = next(circle for circle in svg.iter(SVG + "circle") if circle.get("class") == "ink")
    assert round(x_of(float(ring.get("cx")))) == 500
    assert "Recommended by energy per token: 500 W" in path.read_text()
    # 1 + (100 / 400)^2 is 6.25 % more; compare has the same interval, and so has the whole page.
    assert re.search(r"then (400|600) W, 6\.2\d % more", path.read_text())
    assert len(set(re.findall(r"6\.2\d % more \(([\d.]+ to [\d.]+) %", path.read_text()))) == 1


def test_group_by_refuses_names_that_no_run_has(folder):
    write_store(folder / "store", 4)
    for words, fault in (("hw,comc", "error: --group-by: no run has 'comc': did you mean conc?"),
                         ("nothing_like_it", "error: --group-by: no run has 'nothing_like_it'")):
        done = report(folder, "store", "--group-by", words, "--out", "refused.html", status=2)
        assert fault in done.stderr.decode(), done.stderr
    assert not (folder / "refused.html").exists()


def test_the_limit_of_a_run_may_be_in_its_recording(folder):
    for number, (limit, joules) in enumerate(((400, 1.1), (500, 1.0), (600, 1.2))):
        run = Run(number, joules=joules).draw(0.9 * limit)
        run.write_telemetry(run.write(folder / "limits"), limit=limit)
    path, page = page_of(folder, "limits")
    assert [row["m.power_limit_w"] for row in rows_of_runs(page)] == ["400", "500", "600"]
    assert "Recommended by energy per token: 500 W" in path.read_text()
    path, page = page_of(folder, "limits", "--curves", "none")
    assert "m.power_limit_w" not in rows_of_runs(page)[0] and "Recommended" not in path.read_text()


def test_limits_that_only_some_recordings_state_do_not_tell_repeats_apart(folder):
    for number in range(4):
        run = Run(number, joules=1.0)
        place = run.write(folder / "store")
        if number != 2:  # its recording is gone
            run.write_telemetry(place, limit=700)
    path, page = page_of(folder, "store")
    assert [tooltip[-5:] for tooltip, *_ in dots(chart(page, "energy-chart"))] == ["n = 4"]
    assert "count as one configuration" in path.read_text()


def test_the_limit_counts_in_every_grouping(folder):
    write_limits(folder / "limits")
    for keys in ("hw,conc", "hw,power_limit_w"):
        path, page = page_of(folder, "limits", "--group-by", keys)
        assert len(list(dots(chart(page, "energy-chart")))) == 5
        assert "Recommended by energy per token: 500 W" in path.read_text(), keys
    page_of(folder, "limits", "--group-by", "hw,power_limit_w", "--limit-key", "hw")  # is no limit


def test_tables_without_usable_rows_are_no_sweep(folder):
    head = (ROOT / "testdata" / "power-limits" / "training_stats.csv").read_text().split("\n")[0]
    for name in ("training", "inference"):
        (folder / f"{name}_stats.csv").write_text(head + "\n")
    report(folder, "training_stats.csv", "inference_stats.csv", "--out", "report.html", status=1)


def test_what_was_measured_is_named_by_its_scope(folder):
    run = Run(0)
    record = run.record()
    record["computed_from"]["scope"] = "module"
    run.record_more = {"computed_from": record["computed_from"]}
    run.write(folder / "store")
    _, page = page_of(folder, "store")
    assert "of modules (GPU, CPU and memory) as their sensors report it" in " ".join(" ".join(page.itertext()).split())


def test_a_member_may_be_named_as_the_limit(folder):
    for number, (limit, joules) in enumerate(((400, 1.1), (500, 1.0))):
        Run(number, joules=joules, cap=limit).draw(0.9 * limit).write(folder / "limits")
    path, _ = page_of(folder, "limits", "--limit-key", "cap")
    assert "Recommended by energy per token: 500 W" in path.read_text()


def test_a_limit_key_that_no_run_has_is_refused(folder):
    for number, limit in enumerate((400, 500)):
        Run(number, cap=limit).write(folder / "limits")
    stderr = report(folder, "limits", "--out", "report.html", "--limit-key", "cpa", status=2).stderr.decode()
    assert "--limit-key: no run has 'cpa': did you mean cap?" in stderr, stderr
    assert not (folder / "report.html").exists()


def test_curves_never_leave_the_range_of_their_points(folder):
    # A jump between plateaus, over which other cubics swing.
    for number, (limit, joules) in enumerate(((200, 1.0), (250, 1.0), (300, 1.001), (350, 3.0), (400, 3.0), (450, 3.001))):
        Run(number, joules=joules, power_limit_w=limit).draw(0.95 * limit).write(folder / "limits")
    _, page = page_of(folder, "limits")
    svg = chart(page, [s.get("id") for s in page.iter(SVG + "svg") if s.get("id", "").startswith("limits-")][-1])
    points = sorted((float(c.get("cx")), float(c.get("cy"))) for c in svg.iter(SVG + "circle") if c.get("class") != "ink")
    data = next(path.get("d") for path in svg.iter(SVG + "path") if path.get("class", "").startswith("line "))
    numbers = [float(number) for number in re.findall(r"-?(?:\d*\.\d+|\d+)", data)]
    x, y, curve = 0.0, 0.0, []
    for dx, dy in zip(numbers[::2], numbers[1::2]):
        x, y = x + dx, y + dy
        curve.append((x, y))
    assert len(curve) > 5 * 10
    for x, y in curve:
        left = max((point for point in points if point[0] <= x + 0.11), default=points[0])
        right = min((point for point in points if point[0] >= x - 0.11), default=points[-1])
        low, high = sorted((left[1], right[1]))
        assert low - 0.11 <= y <= high + 0.11, (x, y, left, right)


def test_tables_of_a_sweep_tool_are_drawn(folder):
    limits = ROOT / "testdata" / "power-limits"
    path, page = page_of(folder, limits / "training_stats.csv", limits / "inference_stats.csv")
    text = path.read_text()
    # The limits that 'recommend' documents for these files.
    assert "Recommended by energy per token: 250 W" in text and "Recommended by energy per token: 225 W" in text
    assert len([svg for svg in page.iter(SVG + "svg") if svg.get("class") == "chart"]) == 8  # their windows are of one length
    assert max(value for value, _ in ticks(chart(page, "limits-1-3"), "end")) == 100  # the utilization is 99 %
    # A limit that was not in force is no part of the curve.
    svg = chart(page, "limits-2-4")
    assert [circle.get("class") for circle in svg.iter(SVG + "circle")].count("ink-area") == 1
    path, page = page_of(folder, limits / "trace-summary_power_p100.csv")
    assert "The first 20 of" in path.read_text()


# ---- Small power curves


def small_curves(page):
    return [svg.find(SVG + "path").get("d") if svg.find(SVG + "path") is not None else svg.find(XHTML + "path").get("d")
            for svg in table_of_runs(page).iter() if svg.tag.endswith("}svg")]


def test_small_curves_show_the_recording(folder):
    run = Run(0)
    place = run.write(folder / "store")
    peak = 1.5 * run.watts
    run.write_telemetry(place, lambda second: peak if 150 <= second < 151 else run.watts if 0 <= second <= 300 else 90.0,
                        missing=[(60, 90)])
    path, page = page_of(folder, "store")
    (data,) = small_curves(page)
    columns = curve_of(data)
    # 40 columns of 9 s from 30 s before the window on; the scale ends at the peak.
    level = lambda watts: round(63 * watts / peak)  # noqa: E731
    assert max(columns[20]) == 63 and min(columns[20]) == level(run.watts)  # 150 s is at the start of column 20
    assert columns[0] == [level(90)] * 2 and columns[10][-1] == level(run.watts)  # column 10: 60 s to 69 s
    assert 11 not in columns and 12 not in columns and 13 in columns  # 69 s to 87 s: missing
    assert "M13 " in data
    row = rows_of_runs(page)[0]
    assert row["peak_w"] == f"{peak:.0f}"
    link = next(link for link in table_of_runs(page).iter(XHTML + "a"))
    assert (folder / urllib.parse.unquote(link.get("href"))).is_file() and any(part.tag.endswith("svg") for part in link)


def test_a_spike_does_not_flatten_the_other_curves(folder):
    """Nor does a run that is not valid: it has a mark instead of a peak, and no say in the scale."""
    watts = [300.0, 300.0, 300.0]
    runs = [Run(0), Run(1), Run(2, reasons=["sampling_gap_exceeded"])]
    for run, own in zip(runs, watts):
        spike = {1: 99999.0, 2: 2500.0}.get(int(run.name[-1]), own)
        run.write_telemetry(run.write(folder / "store"), lambda second, own=own, spike=spike:
                            spike if 150 <= second < 151 else own if 0 <= second <= 300 else 90.0)
    _, page = page_of(folder, "store")
    # Three times what the curve with the spike usually is.
    (head,) = ["".join(head.itertext()) for head in table_of_runs(page).iter(XHTML + "th") if head.get("data-k") == "record"]
    assert head == "power, 0 to 900 W/GPU, cut off there", head
    curves = [curve_of(data) for data in small_curves(page)]
    assert [curve[10] for curve in curves] == [[21, 21]] * 3  # 63 x 300 / 900
    assert max(curves[1][20]) == 63 and max(curves[0][20]) == 21
    assert [row["peak_w"] for row in rows_of_runs(page)] == ["300", "99999", "–"]
    marked = [cell.get("class") == "u" for row in table_of_runs(page).find(XHTML + "tbody") for cell in row
              if any(part.tag.endswith("svg") for part in cell.iter())]
    assert marked == [False, False, True]


def test_curves_are_read_as_asked(folder):
    write_store(folder / "store", 4, telemetry=True)
    for asked, count in (([], 4), (["--curves", "all"], 4), (["--curves", "none"], 0), (["--curves", "2"], 2)):
        _, page = page_of(folder, "store", *asked)
        assert len(small_curves(page)) == count, asked
    write_store(folder / "many", 201)
    path, page = page_of(folder, "many")
    assert "power curves of more than 200 runs are read only on request" in path.read_text()


def test_a_recording_that_is_broken_costs_only_its_curve(folder):
    runs = write_store(folder / "store", 3, telemetry=True)
    broken = folder / "store" / runs[1].name / "gpu_metrics.csv"
    broken.write_bytes(b"\x1f\x8b" + b"not gzip" * 100)
    (folder / "store" / runs[2].name / "gpu_metrics.csv").unlink()
    path, page = page_of(folder, "store")
    assert len(small_curves(page)) == 1 and len(rows_of_runs(page)) == 3
    assert "1 of 3 runs have a power curve" in path.read_text()


@in_browser
def test_the_script_draws_many_curves_as_the_program_draws_few(folder):
    runs = [Run(number) for number in range(501)]
    for run in runs:
        place = run.write(folder / "store")
        if run.name in ("run_00003", "run_00400"):
            run.write_telemetry(place, lambda second, n=len(run.name): 300 + 100 * math.sin(second / 20), missing=[(100, 130)])
        else:
            run.write_telemetry(place, every_s=3.0)
    few = folder / "few"
    few.mkdir()
    # The largest peak sets the scale of all curves.
    for run in ("run_00003", "run_00400"):
        shutil.copytree(folder / "store" / run, few / run)
    shutil.copytree(folder / "store" / "run_00000", few / "run_00000")
    _, page = page_of(folder, "few")
    drawn = small_curves(page)
    path, page = page_of(folder, "store", "--curves", "all")
    assert not small_curves(page)
    texts = [cell.get("data-c") for cell in table_of_runs(page).iter(XHTML + "td") if cell.get("data-c")]
    assert len(texts) == 501 and all(re.fullmatch(r"[A-Za-z0-9_.-]{80}", text) for text in texts)
    assert sum(len(text) + len(' data-c=""') for text in texts) * 5000 / 501 < 500_000
    BROWSER.open(path)
    by_script = BROWSER.run("return [...document.querySelectorAll('#runs svg.s path')].map(p => p.getAttribute('d'))")
    assert len(by_script) == 501 and [by_script[0], by_script[3], by_script[400]] == drawn
    assert BROWSER.console() == []


# ---- In a browser


@in_browser
def test_filters_follow_the_address(folder):
    runs = write_store(folder / "store", 100)
    path, _ = page_of(folder, "store")
    count = lambda wanted: sum(map(wanted, runs))  # noqa: E731
    for fragment, wanted in (
            ("", lambda run: True),
            ("#hw=h100", lambda run: run.members["hw"] == "h100"),
            ("#hw=h100&valid=1", lambda run: run.members["hw"] == "h100" and not run.reasons),
            ("#hw=h100&hw=b200", lambda run: run.members["hw"] in ("h100", "b200")),
            ("#valid=0", lambda run: bool(run.reasons)),
            ("#m.conc=16&m.tp=2", lambda run: run.members["conc"] == 16 and run.members["tp"] == 2),
            ("#conc=16&tp=2", lambda run: run.members["conc"] == 16 and run.members["tp"] == 2),
            ("#m.framework=vllm", lambda run: True),  # shared by all runs
            ("#m.framework=sglang", lambda run: False),
            ("#framework=sglang", lambda run: False),
            ("#q=RUN_0003", lambda run: run.name.startswith("run_0003")),
            ("#hw=no%20such%20%26", lambda run: False),
            ("#unknown=1", lambda run: True)):
        BROWSER.open(path, fragment)
        assert visible() == count(wanted), (fragment, visible(), count(wanted))
        shown = BROWSER.run("return document.getElementById('count').textContent")
        assert shown == (f"{count(wanted)} of 100 runs" if count(wanted) < 100 else "100 runs"), shown
        assert BROWSER.console() == [], fragment
    BROWSER.run("location.hash = 'hw=mi355x'; return 0")
    BROWSER.run("return new Promise(done => setTimeout(done, 100))")
    assert visible() == count(lambda run: run.members["hw"] == "mi355x")


@in_browser
def test_members_with_names_of_the_page_are_filters_of_their_own(folder):
    for number in range(8):
        Run(number, sort=number % 2, q=number % 4, p="x" if number < 4 else "y", valid=number % 2).write(folder / "store")
    path, page = page_of(folder, "store", "--group-by", "sort,q,p,valid")
    assert {"m.sort", "m.q", "m.p", "m.valid", "valid"} <= set(rows_of_runs(page)[0])
    names = "return [...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent.match(/run_0000(.)/)[1]).join('')"
    for fragment, wanted in (("#m.sort=1", "1357"), ("#m.q=2", "26"), ("#m.p=y", "4567"), ("#m.valid=0", "0246"),
                             ("#valid=1", "01234567"), ("#m.p=y&sort=-m.q", "7654"), ("#q=run_00003", "3"),
                             ("#m.sort=1&q=run_00003", "3")):
        BROWSER.open(path, fragment)
        shown = BROWSER.run(names)
        if "sort=-" in fragment:
            assert [int(name) % 4 for name in shown] == [3, 2, 1, 0], (fragment, shown)
        else:
            assert shown == wanted, (fragment, shown)
    BROWSER.open(path)
    BROWSER.run("document.querySelector('form input[name=\"m.sort\"][value=\"1\"]').click(); return 0")
    assert BROWSER.run("return location.hash") == "#m.sort=1" and BROWSER.run(names) == "1357"
    assert BROWSER.console() == []


@in_browser
def test_menus_change_the_address(folder):
    runs = write_store(folder / "store", 100)
    path, _ = page_of(folder, "store")
    BROWSER.size(1200, 800)
    BROWSER.open(path)
    BROWSER.click("form summary")
    BROWSER.click("form input[value=h100]")
    BROWSER.click("form input[value=b200]")
    assert BROWSER.run("return location.hash") == "#hw=h100&hw=b200"
    assert visible() == sum(run.members["hw"] in ("h100", "b200") for run in runs)
    BROWSER.click("form input[value=h100]")
    assert BROWSER.run("return location.hash") == "#hw=b200"
    BROWSER.run("location.reload(); return 0")
    BROWSER.run("return new Promise(done => setTimeout(done, 300))")
    assert visible() == sum(run.members["hw"] == "b200" for run in runs)
    assert BROWSER.run("return document.querySelector('form input[value=b200]').checked")
    BROWSER.click("#clear")
    assert visible() == 100 and BROWSER.run("return location.hash") == ""
    BROWSER.click("form input[type=search]")
    for character in "run_00042":
        BROWSER.devtools("Input.insertText", text=character)
    assert visible() == 1 and BROWSER.run("return location.hash") == "#q=run_00042"
    assert BROWSER.console() == []


@in_browser
def test_points_follow_the_filters_and_open_their_runs(folder):
    write_store(folder / "store", 75)
    path, _ = page_of(folder, "store")
    shown = ("return [...document.querySelectorAll('#energy-chart g[data-tag]')]"
             ".filter(g => getComputedStyle(g).display !== 'none').length")
    lines = ("return [...document.querySelectorAll('#energy-chart path[data-tag]')]"
             ".filter(p => getComputedStyle(p).display !== 'none').length")
    BROWSER.open(path)
    assert (BROWSER.run(shown), BROWSER.run(lines)) == (25, 5)
    BROWSER.open(path, "#hw=h200")
    assert (BROWSER.run(shown), BROWSER.run(lines)) == (5, 1)
    BROWSER.open(path, "#conc=64")
    assert (BROWSER.run(shown), BROWSER.run(lines)) == (5, 0)  # a line is more than one of its points
    BROWSER.open(path)
    BROWSER.click("#energy-chart g[data-tag] circle")
    assert visible() == 3 and BROWSER.run("return location.hash.startsWith('#p=')")
    names = BROWSER.run("return [...new Set([...document.querySelectorAll('#runs tbody tr')].filter(r => !r.hidden)"
                        ".map(r => r.cells[2].textContent + r.cells[3].textContent))].length")
    assert names == 1
    assert BROWSER.console() == []


def drawn_now():
    """The chart as it is in the browser, as an element."""
    return ET.fromstring(BROWSER.run("return new XMLSerializer().serializeToString(document.getElementById('energy-chart'))"))


@in_browser
def test_axes_follow_the_address(folder):
    runs = [run for run in write_store(folder / "store", 75) if not run.reasons]
    path, _ = page_of(folder, "store", "--tdp", "1000")
    means = {}
    for run in runs:
        means.setdefault((run.members["hw"], run.members["conc"]), []).append(run)
    of = {"joules_per_output_token": lambda run: run.joules, "tokens_per_joule": lambda run: run.joules,
          "avg_power_w": lambda run: run.watts, "limit_share": lambda run: run.watts / 10,
          "output_tput_per_gpu": lambda run: run.tokens / 300 / 8, "concurrency": lambda run: run.members["conc"],
          "median_intvty": lambda run: run.members["median_intvty"], "power_limit_w": lambda run: 1000.0}
    for y, x, more in (("avg_power_w", "concurrency", ""), ("tokens_per_joule", "output_tput_per_gpu", ""),
                       ("limit_share", "median_intvty", ""), ("joules_per_output_token", "concurrency", "&xlog=0&ylog=0"),
                       ("joules_per_output_token", "median_intvty", "&xlog=1&ylog=1"), ("avg_power_w", "power_limit_w", "&ylog=1")):
        BROWSER.open(path, f"#x={x}&y={y}{more}")
        assert BROWSER.console() == []
        svg = drawn_now()
        x_of, y_of = reader(svg, "middle"), reader(svg, "end")
        area = [float(svg.find(f".//{SVG}clipPath/{SVG}rect").get(key)) for key in ("x", "y", "width", "height")]
        found = list(dots(svg))
        assert len(found) == 25, (x, y)
        for tooltip, at_x, at_y, group in found:
            hardware, concurrency = re.match(r"(\S+) (\d+)", tooltip).groups()
            mean = {key: sum(map(of[key], means[hardware, int(concurrency)])) / len(means[hardware, int(concurrency)]) for key in (x, y)}
            if y == "tokens_per_joule":
                mean[y] = 1 / mean[y]
            assert abs(x_of(at_x) / mean[x] - 1) < 0.015 or abs(x_of(at_x) - mean[x]) < 1, (x, tooltip, x_of(at_x))
            assert abs(y_of(at_y) / mean[y] - 1) < 0.015 or abs(y_of(at_y) - mean[y]) < 0.01, (y, tooltip, y_of(at_y))
            for bar in group.iter(SVG + "path"):
                ends = [float(number) for number in re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", bar.get("d")).groups()]
                assert all(area[1] <= end <= area[1] + area[3] for end in ends), (bar.get("d"), area)
        logarithmic = BROWSER.run("return [...document.querySelectorAll('#axes select')].map(s => s.value)")
        assert logarithmic[0] == y and logarithmic[2] == x
    BROWSER.open(path, "#x=start")
    order = sorted(found, key=lambda dot: dot[0].split()[:2])
    places = {tuple(dot[0].split()[:2]): dot[1] for dot in dots(drawn_now())}
    starts = {key: min(run.start for run in repeats) for key, repeats in means.items()}
    by_place = sorted(starts, key=lambda key: places[key[0], f"{key[1]}:"] if (key[0], f"{key[1]}:") in places else places[key[0], str(key[1])])
    assert by_place == sorted(starts, key=starts.get) and order
    BROWSER.open(path)
    BROWSER.run("const s = document.querySelector('#axes select[name=y]'); s.value = 'avg_power_w';"
                "s.dispatchEvent(new Event('change', {bubbles: true})); return 0")
    assert BROWSER.run("return location.hash") == "#y=avg_power_w"
    assert "power of a GPU (W)" in " ".join(drawn_now().itertext())
    BROWSER.open(path, "#x=nonsense&ylog=7")
    assert len(list(dots(drawn_now()))) == 25 and BROWSER.console() == []


@in_browser
def test_no_tick_repeats_a_label(folder):
    for number, joules in enumerate((0.3749990, 0.3749994, 0.3749999)):
        Run(number, joules=joules, conc=2 ** number, median_intvty=20.0 + number * 1e-6).write(folder / "store")
    path, page = page_of(folder, "store")
    BROWSER.open(path, "#ylog=0")
    for svg in (chart(page, "energy-chart"), drawn_now()):
        for anchor in ("middle", "end"):
            labels = [value for value, _ in ticks(svg, anchor)]
            assert 2 <= len(labels) == len(set(labels)), labels
    BROWSER.open(path, "#x=start")
    assert BROWSER.console() == []


@in_browser
def test_a_point_unfolds_the_power_of_its_runs(folder):
    write_store(folder / "store", 15, telemetry=True)
    path, page = page_of(folder, "store")
    BROWSER.size(1200, 800)
    BROWSER.open(path)
    assert BROWSER.run("return document.getElementById('point').hidden")
    BROWSER.click("#energy-chart g[data-tag='0'] circle")
    shown = BROWSER.run("return [...document.querySelectorAll('#point > div')].map(d => [d.querySelector('path').getAttribute('d'), d.textContent])")
    rows = BROWSER.run("return [...document.querySelectorAll('#runs tbody tr[data-p=\"0\"] svg.s path')].map(p => p.getAttribute('d'))")
    assert len(shown) == 3 and [one[0] for one in shown] == rows
    on_screen = "const r = document.getElementById('point').getBoundingClientRect(); return r.top > -1 && r.bottom < innerHeight + 1"
    assert BROWSER.run(on_screen)
    for _, text in shown:
        assert "W/GPU, window shaded" in text and " output tokens/s/GPU " in text and " input tokens/s/GPU " in text, text
    # The other points stay, to be chosen as well; the table leads to the same without a mouse.
    BROWSER.click("#energy-chart g[data-tag='1'] circle")
    assert visible() == 6 and BROWSER.run("return location.hash") == "#p=0&p=1"
    BROWSER.run("document.querySelector('#energy details').open = true; return 0")
    BROWSER.click("#energy details tbody tr:nth-child(3) a")
    BROWSER.run("return new Promise(done => setTimeout(done, 100))")
    assert BROWSER.run("return location.hash") == "#p=2" and visible() == 3 and BROWSER.run(on_screen)
    assert BROWSER.console() == []


@in_browser
def test_a_phone_shows_whole_charts_and_the_first_column(folder):
    write_store(folder / "store", 75)
    write_limits(folder / "limits")
    path, _ = page_of(folder, "store", "limits")
    BROWSER.size(390, 844)
    BROWSER.open(path)
    for left, right in BROWSER.run("return [...document.querySelectorAll('svg.chart')].map(c => {"
                                   "const r = c.getBoundingClientRect(); return [r.left, r.right]})"):
        assert 0 <= left < right <= 390
    moved = BROWSER.run("const frame = document.getElementById('runs').parentElement; frame.scrollLeft = 200;"
                        "return [frame.scrollLeft, frame.getBoundingClientRect().left,"
                        "document.querySelector('#runs tbody td').getBoundingClientRect().left]")
    assert moved[0] == 200 and abs(moved[1] - moved[2]) < 1, moved
    assert BROWSER.run("return document.documentElement.scrollWidth") <= 390
    # The labels of ticks can be read: 9 pixels and more.
    assert BROWSER.run("const svg = document.getElementById('energy-chart');"
                       "return parseFloat(getComputedStyle(svg.querySelector('.number')).fontSize) * svg.getBoundingClientRect().width / 960") >= 8.5


@in_browser
def test_rows_in_print_have_few_lines(folder):
    for number, run in enumerate(write_store(folder / "made", 20)):
        run.record_more = {"uncertainty": {key: {"low": value, "high": value, "standard_uncertainty": value / 100, "repeatability":
                           {"low": 0.98 * value, "high": 1.03 * value, "standard_uncertainty": value / 100}} for key, value in
                           (("joules_per_output_token", run.joules), ("avg_power_w", run.watts), ("total_gpu_energy_j", run.energy))}}
        run.name = f"concurrency_{number}_run_1"
        run.write_telemetry(run.write(folder / "store"))
    path, _ = page_of(folder, "store")
    BROWSER.media("light", "print")
    BROWSER.size(round(273 / 25.4 * 96), round(186 / 25.4 * 96))
    BROWSER.open(path)
    most = BROWSER.run("return Math.max(...[...document.querySelectorAll('#runs tbody td:first-child')].map(c => {"
                       "const r = document.createRange(); r.selectNodeContents(c); return new Set([...r.getClientRects()].map(b => b.top)).size}))")
    width = BROWSER.run("return document.getElementById('runs').scrollWidth")
    BROWSER.media()
    assert most <= 3 and width <= round(273 / 25.4 * 96), (most, width)


@in_browser
def test_the_first_page_in_print_has_the_chart(folder):
    write_store(folder / "store", 20)
    path, _ = page_of(folder, "store")
    BROWSER.media("light", "print")
    BROWSER.size(round(273 / 25.4 * 96), round(186 / 25.4 * 96))  # A4 without its margins
    BROWSER.open(path)
    assert BROWSER.run("return document.getElementById('energy-chart').getBoundingClientRect().bottom") < 186 / 25.4 * 96
    BROWSER.media()


@in_browser
def test_columns_sort_by_their_numbers(folder):
    runs = write_store(folder / "store", 60)
    path, page = page_of(folder, "store")
    keys = [head.get("data-k") for head in table_of_runs(page).iter(XHTML + "th")]
    column = keys.index("joules_per_output_token")
    texts = f"return [...document.querySelectorAll('#runs tbody tr')].map(r => r.cells[{column}].textContent)"
    BROWSER.open(path, "#sort=-joules_per_output_token")
    found = BROWSER.run(texts)
    valid = [float(text) for text in found if text != "–"]
    assert valid == sorted(valid, reverse=True) and found[-1] == "–" and len(valid) == sum(not run.reasons for run in runs)
    BROWSER.open(path)
    BROWSER.click(f"#runs th:nth-child({column + 1}) button")
    assert [float(text) for text in BROWSER.run(texts) if text != "–"] == sorted(valid)
    assert BROWSER.run("return location.hash") == "#sort=joules_per_output_token"
    BROWSER.click(f"#runs th:nth-child({column + 1}) button")
    assert BROWSER.run("return location.hash") == "#sort=-joules_per_output_token"


@in_browser
def test_pages_of_one_and_of_many_runs_load_without_errors(folder):
    for count, repeats in ((1, 1), (20, 3), (5000, 1), (5000, 5)):
        store = folder / f"store{count}-{repeats}"
        write_store(store, count, repeats)
        path, page = page_of(folder, store.name)
        assert path.stat().st_size < 5_000_000, path.stat().st_size
        assert len(rows_of_runs(page)) == count
        for width in (360, 1200):
            BROWSER.size(width, 800)
            BROWSER.open(path)
            assert visible() == count and BROWSER.console() == []
            assert BROWSER.run("return document.documentElement.scrollWidth") <= width
        BROWSER.open(path, "#hw=h100&valid=1")
        assert visible() == sum(row.get("hw", "h100") == "h100" and row["valid"] == "valid" for row in rows_of_runs(page))


@in_browser
def test_without_scripts_the_page_is_complete(folder):
    write_store(folder / "store", 12, telemetry=True)
    path, page = page_of(folder, "store")
    assert len(small_curves(page)) == 12
    BROWSER.size(1200, 800)
    BROWSER.scripts(False)
    try:
        BROWSER.open(path, settled=False)
        layout = BROWSER.devtools("Page.getLayoutMetrics")["cssContentSize"]
        picture = Picture(BROWSER.picture((0, layout["height"] - 400, 1200, 400)))
        assert picture.share(lambda pixel: sum(pixel) < 300) > 0.01  # the text of the table
    finally:
        BROWSER.scripts(True)
    BROWSER.open(path)
    hidden = BROWSER.run("const f = new DOMParser().parseFromString(arguments[0], 'text/html').getElementById('filters');"
                         "return f.hidden", path.read_text())
    assert hidden


@in_browser
def test_light_dark_and_print(folder):
    write_store(folder / "store", 20)
    path, _ = page_of(folder, "store")
    BROWSER.size(1200, 800)
    is_white = lambda pixel: min(pixel) > 240  # noqa: E731
    is_dark = lambda pixel: max(pixel) < 60  # noqa: E731
    BROWSER.open(path)
    light = Picture(BROWSER.picture())
    assert light.share(is_white) > 0.85
    BROWSER.media("dark")
    dark = Picture(BROWSER.picture())
    assert dark.share(is_dark) > 0.85 and dark.share(is_white) < 0.02
    BROWSER.media("dark", "print")
    assert Picture(BROWSER.picture()).share(is_white) > 0.85
    assert not BROWSER.run("return document.getElementById('filters').checkVisibility()")
    BROWSER.media()
    pdf = BROWSER.print()
    assert pdf.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 6


@in_browser
def test_the_charts_look_as_before(folder):
    """A picture at half its size, against a stored one, with room for another font."""
    write_store(folder / "store", 75)
    write_limits(folder / "limits", hw="h100")
    path, _ = page_of(folder, "store", "limits")
    BROWSER.size(1200, 800)
    for name, scheme in (("energy-chart", "light"), ("limits-1-1", "dark"), ("limits-1-4", "light")):
        BROWSER.media(scheme)
        BROWSER.open(path)
        box = BROWSER.run("const r = document.getElementById(arguments[0]).getBoundingClientRect();"
                          "return [r.x + scrollX, r.y + scrollY, r.width, r.height].map(Math.round)", name)
        png = BROWSER.picture(box)
        golden = GOLDEN / f"{name}-{scheme}.png"
        if os.environ.get("WRITE_GOLDEN"):
            golden.write_bytes(png)
        now, before = Picture(png).shrunk(8), Picture(golden.read_bytes()).shrunk(8)
        assert len(now) == len(before) and len(now[0]) == len(before[0]), name
        differences = [max(abs(a - b) for a, b in zip(one, other))
                       for row, old in zip(now, before) for one, other in zip(row, old)]
        mean = sum(differences) / len(differences)
        far = sum(difference > 64 for difference in differences) / len(differences)
        assert mean < 4 and far < 0.02, (name, mean, far)
    BROWSER.media()


@in_browser
def test_dots_have_the_colour_of_their_hardware(folder):
    write_store(folder / "store", 75)
    path, page = page_of(folder, "store")
    styles = "".join(style.text for style in page.iter(XHTML + "style"))
    classes = {}
    for tooltip, _, _, group in dots(chart(page, "energy-chart")):
        classes.setdefault(tooltip.split()[0], set()).add(group.find(SVG + "circle").get("class"))
    assert len(classes) == 5 and all(len(found) == 1 for found in classes.values())
    assert len(set.union(*classes.values())) == 5
    # The swatch in the tables has the same colour.
    for cell in table_of_runs(page).iter(XHTML + "td"):
        if cell.get("class", "").startswith("k"):
            number = cell.get("class")[1:]
            assert classes[cell.text] == {f"a{number}"}
            swatch = re.search(rf"\.k{number}{{--k:(#[0-9a-f]+)}}", styles).group(1)
            assert f".chart .a{number}{{fill:{swatch}}}" in styles
    BROWSER.size(1200, 800)
    BROWSER.media()
    BROWSER.open(path)
    for dot in BROWSER.run("return [...document.querySelectorAll('#energy-chart g[data-tag] circle')].map(c => {"
                           "const r = c.getBoundingClientRect();"
                           "return [r.x + r.width / 2 + scrollX, r.y + r.height / 2 + scrollY, getComputedStyle(c).fill]})")[::6]:
        x, y, fill = dot
        picture = Picture(BROWSER.picture((x - 8, y - 8, 16, 16)))
        colour = tuple(int(number) for number in re.findall(r"\d+", fill))
        assert picture.share(lambda pixel: max(abs(a - b) for a, b in zip(pixel, colour)) < 40) > 0.05, dot


# ---- Hostile names

HOSTILE = ['"><script>window.pwned = 1</script>', "<img src=x onerror=window.pwned=2>", "'); window.pwned = 3; ('",
           "]]></script><script>window.pwned=4</script>", "a\nb\r\n\tc\u0000\u202egpj", "&lt;b&gt;&amp;", "javascript:alert(1)",
           "x" * 10_000, "\ud800", "</title></style><h1>", "=cmd|' /C calc'!A0", "\u00e4\U0001f600" * 50]


def page_of_hostile_names(folder):
    for number, name in enumerate(HOSTILE):
        run = Run(number, joules=1 + number / 10, model=name, reasons=[name] if number % 3 == 2 else [], power_limit_w=500 + number)
        run.members["hw"] = name
        run.write(folder / "store")
    for number, name in enumerate((b"<script>window.pwned=5<", b"\"onload=\"window.pwned=6", b"a\nb", b"\xff\xfe<b>", b"javascript:x",
                                   b"n" * 200)):
        place = os.path.join(os.fsencode(folder), b"store", name)
        os.makedirs(place)
        run = Run(100 + number)
        source = run.write(folder / "made")
        for file in source.iterdir():
            os.rename(os.fsencode(file), os.path.join(place, os.fsencode(file.name)))
    return page_of(folder, "store", "--title", HOSTILE[0] + HOSTILE[1])


def test_a_page_of_many_runs_has_a_sample_and_a_csv(folder):
    """4,100 runs, three of them of another configuration: these have all a row, whatever the sample is."""
    (pathlib.Path(folder) / "store").mkdir()
    for i in range(4100):
        (pathlib.Path(folder) / "store" / f"agg_{i}.json").write_text(json.dumps(
            {"hw": "h100", "conc": 8 if i % 1400 == 9 else 4, "power_valid": 1, "total_gpu_energy_j": 1000.0 + i,
             "joules_per_output_token": 1 + i / 8192}))
    path, page = page_of(folder, "store")
    rows = rows_of_runs(page)
    assert len(rows) == 4000 and len({row["run"] for row in rows}) == 4000
    assert [row["run"] for row in rows if row["m.conc"] == "8"] == ["agg_1409.json", "agg_2809.json", "agg_9.json"]
    assert 1900 < sum(int(row["run"][4:-5]) >= 2050 for row in rows) < 2100
    assert "4000 of 4100 runs have a row" in path.read_text("utf-8")
    assert any(link.get("href") == "report.csv" for link in page.iter(XHTML + "a"))
    csv = (pathlib.Path(folder) / "report.csv").read_bytes()
    exported = subprocess.run([PROGRAM, "export", "store", "--format", "csv"], cwd=folder, env=ENVIRONMENT,
                              capture_output=True, check=True).stdout
    assert csv == exported and csv.count(b"\r\n") == 4101
    before = path.read_bytes()
    page_of(folder, "store")
    assert path.read_bytes() == before
    (pathlib.Path(folder) / "report.csv").write_text("mine\n")
    done = report(folder, "store", "--out", "report.html", status=2)
    assert b"report.csv" in done.stderr and (pathlib.Path(folder) / "report.csv").read_text() == "mine\n"


def test_a_page_of_many_configurations_draws_a_sample(folder):
    (pathlib.Path(folder) / "store").mkdir()
    for i in range(4100):
        (pathlib.Path(folder) / "store" / f"agg_{i}.json").write_text(json.dumps(
            {"hw": "h100", "conc": i + 1, "power_valid": 1, "total_gpu_energy_j": 1000.0 + i,
             "joules_per_output_token": 1 + i / 8192}))
    path, page = page_of(folder, "store")
    points = [row.get("data-p") for row in table_of_runs(page).find(XHTML + "tbody")]
    assert sorted(map(int, points)) == list(range(4000))
    assert "4000 of 4100 configurations are in the chart" in path.read_text("utf-8")
    assert path.stat().st_size < 5_000_000


def test_hostile_names_stay_text(folder):
    path, page = page_of_hostile_names(folder)
    text = path.read_text("utf-8")
    assert len(list(page.iter(XHTML + "script"))) == 1 and not list(page.iter(XHTML + "img"))
    assert len(text) < 400_000 and "x" * 130 not in text
    assert len(rows_of_runs(page)) == len(HOSTILE) + 6
    for link in table_of_runs(page).iter(XHTML + "a"):
        assert not link.get("href").startswith("javascript:")
        assert os.path.isfile(os.path.join(os.fsencode(folder), urllib.parse.unquote_to_bytes(link.get("href")))), link.get("href")
    svg = chart(page, "energy-chart")
    assert html.unescape("".join(svg.itertext())).count("window.pwned") >= 1  # as text
    for link in page.iter(XHTML + "a"):
        if link.get("download"):
            cells = urllib.parse.unquote(link.get("href").split(",", 1)[1])
            assert not re.search(r"(?m)(^|,)\"?=cmd", cells) and "'=cmd" in cells or "limits" in link.get("download")


@in_browser
def test_hostile_names_stay_text_in_the_browser(folder):
    path, _ = page_of_hostile_names(folder)
    BROWSER.open(path)
    BROWSER.open(path, "#hw=" + urllib.parse.quote(HOSTILE[0]) + "&q=<img src=x onerror=window.pwned=7>")
    assert visible() == 0
    BROWSER.open(path, "#hw=" + urllib.parse.quote(HOSTILE[1]))
    assert visible() == 1
    assert BROWSER.run("return [typeof window.pwned, document.scripts.length, document.images.length,"
                       "document.querySelectorAll('h1').length]") == ["undefined", 1, 0, 1]
    assert BROWSER.console() == []


if __name__ == "__main__":
    if QUICK:
        sys.exit(run_tests({name: test for name, test in globals().items() if name not in IN_BROWSER}))
    with browser() as BROWSER:
        sys.exit(run_tests(globals()))
