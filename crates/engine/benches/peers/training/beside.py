"""Steps of training, ours and others' in turns: tokens per second, and the share of the multiply-adds that the cores could do.

    python3 beside.py --ours PROGRAM [--hotloop PROGRAM] --peers ~/peers [--rounds 9] [--turn 1.0] [--threads 1,2] [SHAPE…]

`PROGRAM` of ours is the benchmark `training_turns`, built by `cargo bench -p hotloop-engine --bench training_turns --no-run`; `hotloop` is the command itself. See
../../README.md for how the peers are built. A peer that is not there is named and left out.
"""

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# vocabulary, context, width, layers, heads, batch, length, whether the embeddings are the head too
SHAPES = {
    "gpt2-3.3M-batch8": (512, 128, 256, 4, 8, 8, 128, True),
    "gpt2-3.3M-batch1": (512, 128, 256, 4, 8, 1, 128, True),
    "gpt2-124M": (50257, 1024, 768, 12, 12, 4, 64, True),
    "loopos-tiny": (578, 512, 256, 2, 8, 8, 127, False),  # as many words as its corpus of 32 lines has
}

# candle frees and asks for all its memory at every step. With the C library's defaults that goes to the system and back: a quarter slower.
KEEPS_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "8000000000", "MALLOC_TOP_PAD_": "67108864"}


def flops_per_token(shape):
    """Multiply-adds of all products of matrices, times two: forward once, backward twice; attention looks at half of the window."""
    vocabulary, _, width, layers, _, _, length, _ = shape
    matrices = layers * 12 * width * width + vocabulary * width
    return 6 * matrices + 6 * layers * width * (length + 1)


class Turns:
    """A process that does as many steps as a line asks for. It is stopped while others have their turn: no thread of it waits by spinning."""

    def __init__(self, name, command, environment, tokens):
        self.name, self.tokens, self.steps, self.speeds, self.loss = name, tokens, 1, [], None
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ready = self.process.stdout.readline()
        if not ready:
            raise OSError(f"{command[0]} ended with {self.process.wait()} before it was warm")
        self.facts = json.loads(ready)
        self.process.send_signal(signal.SIGSTOP)

    def turn(self, duration):
        self.process.send_signal(signal.SIGCONT)
        answer = self.ask(self.steps)
        self.process.send_signal(signal.SIGSTOP)
        self.speeds.append(self.steps * self.tokens / answer["seconds"])
        self.loss = answer["loss"]
        self.steps = max(1, round(duration * max(self.speeds) / self.tokens))

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


class Launches:
    """A program that trains over the corpus of LoopOS from its start to its end, and tells itself how fast it was."""

    def __init__(self, name, command, environment, settings, tell):
        self.name, self.command, self.environment, self.settings, self.tell = name, command, environment, settings, tell
        self.speeds, self.loss, self.facts = [], None, {}

    def turn(self, _duration):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(self.settings))
            command = [part.replace("{folder}", folder) for part in self.command]
            ended = subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True, cwd=folder)
            told = self.tell(ended.stdout + ended.stderr, Path(folder))
        if not told:
            raise OSError(f"{self.command[0]} ended with {ended.returncode} and told no speed: {ended.stderr[-400:]}")
        speed, self.loss = told
        self.speeds.append(speed)

    def end(self):
        pass


def told_by_loopos(output, _folder):
    """Tokens per second of its batches alone, without waiting for data."""
    found = re.search(r"Avg Loss: ([\d.]+) \| Avg tokens/sec: ([\d.]+)", output)
    return found and (float(found[2]), float(found[1]))


def told_by_hotloop(_output, folder):
    """Tokens per second of its steps, with waiting for data."""
    log = folder / "train.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    steps = [event for event in events if event["event"] == "step"]
    tokens = sum(step["tokens"] for step in steps)
    return steps and (tokens / sum(step["seconds"] for step in steps), sum(step["loss"] * step["tokens"] for step in steps) / tokens)


def contenders(options, name, threads):
    shape = SHAPES[name]
    sizes = [str(size) for size in shape[:7]]
    tied = shape[7]
    tokens = shape[5] * shape[6]
    peers = Path(options.peers)
    environment = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    python = [str(peers / "venv/bin/python3"), str(HERE / "pytorch.py"), *sizes, "--threads", str(threads)]
    if not tied:
        python.append("--untied")
    ours = [options.ours, *sizes, "--threads", str(threads)] + ([] if tied else ["--untied"])
    wanted = [
        ("ours", Turns, (ours, environment, tokens)),
        ("PyTorch", Turns, (python, environment, tokens)),
        ("PyTorch, compiled", Turns, ([*python, "--compile"], environment, tokens)),
        ("llm.c", Turns, ([str(peers / "llm.c/train-steps"), *sizes], environment, tokens)),
    ]
    candle = [str(peers / "candle/release/training-candle"), *sizes, "--threads", str(threads)]
    if tied:
        wanted.append(("candle", Turns, (candle, {**environment, **KEEPS_MEMORY, "RAYON_NUM_THREADS": str(threads)}, tokens)))
    if name == "loopos-tiny":
        wanted += launches(options, threads, environment)
    for label, kind, parts in wanted:
        if options.only and label not in options.only:
            continue
        if not Path(parts[0][0]).exists():
            print(f"{label} is not at {parts[0][0]}: left out", file=sys.stderr)
            continue
        try:
            yield kind(label, *parts)
        except OSError as error:
            print(f"{label} is left out: {error}", file=sys.stderr)


def launches(options, threads, environment):
    """LoopOS and our command on LoopOS's own config and corpus."""
    data = Path(options.data)
    settings = json.loads((data / "autoregressive_tiny.json").read_text())
    settings["data"]["input_file"] = str((data / "corpus32x128.txt").resolve())
    settings["training"]["shuffle"] = False
    theirs = [str(Path(options.peers).resolve() / "LoopOS/build/loop_cli"), "-c", "{folder}/config.json"]
    yield "LoopOS", Launches, (theirs, environment, settings, told_by_loopos)
    if options.hotloop:
        command = [str(Path(options.hotloop).resolve()), "train", "{folder}/config.json", "--threads", str(threads), "--out", "{folder}"]
        yield "hotloop train", Launches, (command, environment, settings, told_by_hotloop)


def peak(options, threads):
    """Multiply-adds of f32 in registers, measured by our program."""
    answer = subprocess.run([options.ours, "--peak", "--threads", str(threads)], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["flops"]


def measure(options, name, threads):
    highest = peak(options, threads)
    sides = list(contenders(options, name, threads))
    order = random.Random(1)
    for done in range(options.rounds + 1):
        for side in order.sample(sides, len(sides)):
            if isinstance(side, Launches) and done % options.launch_every != 1 % options.launch_every:
                continue
            side.turn(options.turn)
        if done == 0:  # a turn of one step that finds out how many fit
            for side in sides:
                side.speeds.clear()
    for side in sides:
        side.end()
    highest = max(highest, peak(options, threads))
    work = flops_per_token(SHAPES[name])
    for side in sides:
        yield {
            "shape": name,
            "threads": threads,
            "contender": side.name,
            "best": max(side.speeds),
            "median": statistics.median(side.speeds),
            "turns": len(side.speeds),
            "share": max(side.speeds) * work / highest,
            "peak": highest,
            "loss": side.loss,
            **side.facts,
        }


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def table(rows):
    lines = ["| shape, threads | contender | tokens/s: best / median | share of the peak | ours ÷ it, best / median |", "|---|---|---:|---:|---:|"]
    for row in rows:
        ours = next((other for other in rows if other["contender"] == "ours" and all(other[key] == row[key] for key in ("shape", "threads"))), None)
        ratio = f"{ours['best'] / row['best']:.2f} / {ours['median'] / row['median']:.2f}" if ours and ours is not row else ""
        lines.append(
            f"| {row['shape']}, {row['threads']} | {row['contender']} | {number(row['best'])} / {number(row['median'])} | {row['share']:.0%} | {ratio} |"
        )
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}; all without one")
    parser.add_argument("--ours", required=True, help="the built benchmark `training_turns`")
    parser.add_argument("--hotloop", help="the built command, for LoopOS's config and corpus")
    parser.add_argument("--peers", default=os.environ.get("HOTLOOP_PEERS", "").split(":")[0], help="their folder; else HOTLOOP_PEERS")
    parser.add_argument("--data", default="../shared/data/loopos", help="where LoopOS's config and corpus lie")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--launch-every", type=int, default=3, help="rounds between two launches of whole trainings")
    parser.add_argument("--turn", type=float, default=1.0, help="seconds of a turn, as near as whole steps allow")
    parser.add_argument("--threads", default="1,2", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--only", type=lambda text: text.split(";"), help="contenders, with semicolons between")
    parser.add_argument("--json", help="a file for all figures")
    return parser.parse_args()


def main():
    options = arguments()
    rows = []
    for name in options.shapes or SHAPES:
        for threads in options.threads:
            rows += measure(options, name, threads)
            print(f"{time.strftime('%H:%M:%S')} {name}, {threads}: done", file=sys.stderr)
    print(table(rows))
    if options.json:
        Path(options.json).write_text("\n".join(json.dumps(row) for row in rows) + "\n")


main()
