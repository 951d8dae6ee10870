"""What Python costs: a training step and a prediction from Python against the command, the memory of a thousand fits, and
the time of `import nkn` beyond numpy.

    cargo build --release --workspace
    PYTHONPATH=target/python/package target/python/bin/python benchmarks/python_overhead.py --binary target/release/nkn

(`cargo xtask python` makes that environment.) Both sides do the same work in processes of their own, alternately, and the
best of the rounds counts. The processor's time is compared: other programs do not count. A step is the difference
between a long and a short training, so that starting and preparing do not count either.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

#: The paper's network for 1D Poisson.
POISSON = {"kernel": [256, 256], "depths": [4]}
#: The paper's network for Darcy flow.
DARCY = {"width": 64, "kernel": [512, 1024], "reaction": [512, 1024], "radius": 0.1, "kernel_fields": ["b"],
         "quadrature": "mean", "normalise_input": "scalar", "normalise_output": "scalar", "depths": [4]}  # fmt: skip
FEW, MANY = 10, 110


def processor_seconds(call: list[str]) -> float:
    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    subprocess.run(call, check=True, capture_output=True)
    return spent() - before


def train(epochs: int) -> None:
    import nkn

    nkn.NKN(**POISSON, epochs=epochs, verbose=0).fit(nkn.problems.poisson(500), test=nkn.problems.poisson(1, first=500))


def predict(model: str, data: str, out: str) -> None:
    import numpy as np

    import nkn

    np.savez(out, u=nkn.load(model).predict(nkn.Samples.read(data)))


def memory() -> None:
    """The growth of the process over a thousand fits and predictions, in MB."""
    import nkn

    def resident() -> float:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6

    samples = nkn.problems.poisson(20, 33)
    before = 0.0
    for count in range(1100):
        if count == 100:
            before = resident()
        nkn.NKN(kernel=[16], epochs=3, verbose=0).fit(samples).predict(samples["f"])
    print(f"{resident() - before:.1f} MB")


def start(rounds: int) -> None:
    """The processor's time and the clock's for `import nkn`, in ms: the best of the rounds."""
    code = "import numpy, time; a, b = time.process_time(), time.perf_counter(); import nkn\n"
    code += "print(time.process_time() - a, time.perf_counter() - b)"

    def once() -> list[float]:
        return [float(word) for word in subprocess.check_output([sys.executable, "-c", code], text=True).split()]

    processor, clock = (1e3 * min(times) for times in zip(*(once() for _ in range(rounds))))
    print(f"import nkn: {processor:.1f} ms of the processor, {clock:.1f} ms")


def speed(binary: str, rounds: int) -> None:
    import nkn

    best: dict[str, float] = {}

    def measure(name: str, call: list[str]) -> None:
        best[name] = min(best.get(name, float("inf")), processor_seconds(call))

    python = [sys.executable, __file__]
    with tempfile.TemporaryDirectory() as folder:
        config, data, model, out = (os.path.join(folder, name) for name in ("c.toml", "d.npz", "m.safetensors", "u.npz"))
        with open(config, "w") as file:
            file.write("[data]\nproblem = \"poisson\"\ntest_samples = 1\n[model]\nkernel = [256, 256]\n[train]\ndepths = [4]\n")
        nkn.problems.darcy(2, 61).save(data)
        nkn.NKN(**DARCY, epochs=1, verbose=0).fit(nkn.problems.darcy(2, 16)).save(model)
        for _ in range(rounds):
            for epochs in (FEW, MANY):
                options = ["--out", os.path.join(folder, "run"), "--force", "--set", f"train.epochs={epochs}"]
                measure(f"command {epochs}", [binary, "train", config, *options])
                measure(f"python {epochs}", [*python, "--train", str(epochs)])
            measure("command predict", [binary, "predict", model, data, "-o", out, "--force"])
            measure("python predict", [*python, "--predict", model, data, out])
    steps = {side: (best[f"{side} {MANY}"] - best[f"{side} {FEW}"]) / (MANY - FEW) for side in ("command", "python")}
    for name, (ours, theirs) in {
        "Poisson step": (steps["python"], steps["command"]),
        "Darcy s = 61, load, predict two samples, save": (best["python predict"], best["command predict"]),
    }.items():
        print(f"{name}: command {theirs:.4f} s, Python {ours:.4f} s, ratio {ours / theirs:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/nkn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="a thousand fits and predictions: by how much they grow")
    parser.add_argument("--start", action="store_true", help="how long `import nkn` takes beyond numpy")
    parser.add_argument("--train", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--predict", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory()
    elif options.start:
        start(options.rounds)
    elif options.train:
        train(options.train)
    elif options.predict:
        predict(*options.predict)
    else:
        speed(options.binary, options.rounds)


if __name__ == "__main__":
    main()
