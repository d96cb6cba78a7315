#!/usr/bin/env python3
"""Times `plot` against the single run that measures the same recording of a million samples.

usage: plot_bench.py PROGRAM WORK_FOLDER
Prints the ratio of both times (at most 1.5) and the size of the picture (at most 300 kB), for the
columns that nvidia-smi writes and for those with a power limit. No verdict: the figures are for people.
"""
import os
import statistics
import subprocess
import sys
import time

program, work = sys.argv[1:3]
environment = {**os.environ, "TZ": "UTC"}
ROUNDS = 15


def wall(command):
    begin = time.perf_counter()
    subprocess.run(command, cwd=work, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def add_limits(source, target):
    with open(os.path.join(work, source), encoding="utf-8") as old, \
         open(os.path.join(work, target), "w", encoding="utf-8") as new:
        new.write(next(old).rstrip("\n") + ", power.limit [W]\n")
        new.writelines(line.rstrip("\n") + ", 700.00 W\n" for line in old)


subprocess.run([program, "synthesize", "--out", "plot.csv", "--bench-out", "plot.json", "--agg-out", "agg_plot.json",
                "--timezone", "UTC", "--noise", "40", "--gpus", "8", "--interval", "0.1", "--phase", "60:120", "--phase",
                "12380:650", "--phase", "60:300"], cwd=work, check=True, stdout=subprocess.DEVNULL)
add_limits("plot.csv", "plot_limits.csv")
for name in ("plot.csv", "plot_limits.csv"):
    single = [program, "--csv", name, "--bench-result", "plot.json", "--agg-result", "agg_plot.json",
              "--expected-num-gpus", "8"]
    picture = [program, "plot", name, "--bench-result", "plot.json", "--out", "plot.svg"]
    seconds = {"single": [], "picture": []}
    for turn in range(ROUNDS + 1):
        for what, command in (("single", single), ("picture", picture)):
            took = wall(command)
            if turn > 0:  # the first round warms the cache
                seconds[what].append(took)
    one, two = (statistics.median(seconds[what]) for what in ("single", "picture"))
    size = os.path.getsize(os.path.join(work, "plot.svg"))
    megabytes = os.path.getsize(os.path.join(work, name)) / 1e6
    print(f"plot {name:<17} {megabytes:8.1f} MB  single run {one * 1e3:.0f} ms  picture {two * 1e3:.0f} ms "
          f"= {two / one:.2f} (at most 1.5)  {size / 1e3:.0f} kB (at most 300)", flush=True)
for name in ("plot.csv", "plot_limits.csv", "plot.json", "plot.svg", "agg_plot.json"):
    os.remove(os.path.join(work, name))
