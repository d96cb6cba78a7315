"""The energy of GPU benchmarks, as the program aggregate-power measures it.

    import aggregate_power

    with aggregate_power.record("gpu_metrics.csv"):
        ...                                             # the load, which writes vllm.json
    run = aggregate_power.measure("vllm.json", "gpu_metrics.csv", timezone="UTC")
    run["joules_per_output_token"]

Each function runs the program once. Options are those of its command: max_sample_gap=5 is
--max-sample-gap 5, uncertainty=True is --uncertainty, and a list gives an option several times.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

__all__ = ["PowerError", "Run", "compare", "measure", "measure_all", "program", "record", "windows"]

Path = Union[str, "os.PathLike[str]"]


class PowerError(Exception):
    """What the program says of wrong use, or of a file that it cannot use; `status` is its exit status."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class Run(Dict[str, Any]):
    """One measured run, as `aggregate-power measure --json` prints it."""

    @property
    def valid(self) -> bool:
        return bool(self["valid"])

    @property
    def reasons(self) -> List[str]:
        """Why it is not valid, as codes; `aggregate-power help CODE` describes each."""
        return list(self["reasons"])

    def to_pandas(self) -> Any:
        """A pandas.Series; numbers of inner objects are named with dots: 'window.start_unix'."""
        import pandas
        return pandas.json_normalize(self).iloc[0]


def program(name: str = "aggregate-power") -> str:
    """The path of a program of this package: $AGGREGATE_POWER, beside this Python, or on the PATH."""
    own = os.environ.get("AGGREGATE_POWER")
    if own and name == "aggregate-power":
        return own
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable),
               str(pathlib.Path(__file__).resolve().parents[1] / "bin")]  # of pip install --target
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders))) or shutil.which(name)
    if not found:
        raise PowerError(f"{name} is not installed: pip install aggregate-power", 127)
    return found


def _words(options: Dict[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                yield option
            elif each is not None and each is not False:
                yield from (option, os.fspath(each) if isinstance(each, os.PathLike) else str(each))


def _call(words: Iterable[str], statuses: Iterable[int] = (0, 1)) -> Dict[str, Any]:
    done = subprocess.run([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          errors="replace")
    if done.returncode not in statuses or not done.stdout.startswith("{"):
        raise PowerError(done.stderr.strip() or done.stdout.strip(), done.returncode)
    return json.loads(done.stdout)


def measure_all(result: Path, recording: Optional[Path] = None, **options: Any) -> List[Run]:
    """Each load of a result, in its order. A run that is not valid is a Run with its reasons."""
    files = [os.fspath(file) for file in (result, recording) if file is not None]
    return [Run(run) for run in _call(["measure", *files, "--json", *_words(options)])["runs"]]


def measure(result: Path, recording: Optional[Path] = None, **options: Any) -> Run:
    """The only load of a result. Raises ValueError if it has several: choose with select=, or see measure_all()."""
    runs = measure_all(result, recording, **options)
    if len(runs) != 1:
        raise ValueError(f"{os.fspath(result)} has {len(runs)} loads: choose with select='last' or select=N, "
                         "or use measure_all()")
    return runs[0]


def windows(recording: Path, windows: Path, **options: Any) -> Dict[str, Any]:
    """The energy of each window that a script logged, as `aggregate-power windows --json` prints it."""
    return _call(["windows", "--telemetry", os.fspath(recording), "--windows", os.fspath(windows), "--json",
                  *_words(options)])


def compare(base: Union[Path, Sequence[Path]], new: Union[Path, Sequence[Path]], **options: Any) -> Dict[str, Any]:
    """Whether new runs need more energy than those of the base, as `aggregate-power compare --json` prints it."""
    sides = [[os.fspath(path) for path in (side if isinstance(side, (list, tuple)) else [side])] for side in (base, new)]
    return _call(["compare", *sides[0], "--with", *sides[1], "--json", *_words(options)], statuses=(0, 1, 3))


@contextlib.contextmanager
def record(output: Path = "gpu_metrics.csv", **options: Any) -> Iterator[pathlib.Path]:
    """Records the GPUs' power into a CSV while the block runs; options are those of aggregate-power-monitor."""
    monitor = program("aggregate-power-monitor")
    words = ["--output", os.fspath(output), *_words(options)]
    _monitor([monitor, "start", *words])
    stop = [monitor, "stop", "--output", os.fspath(output)]
    try:
        yield pathlib.Path(output)
    except BaseException:  # what went wrong in the block is what its user is to see
        with contextlib.suppress(PowerError):
            _monitor(stop)
        raise
    _monitor(stop)


def _monitor(words: List[str]) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="replace")
    if done.returncode != 0:
        raise PowerError(done.stderr.strip(), done.returncode)
