"""What nanoGPT's character model learns: its own model and optimiser, its loop in our words, the loss over the whole validation tenth.

    python nanogpt.py --nanogpt ~/peers/nanoGPT --text tinyshakespeare.txt --seed 1337

Defaults are nanoGPT's settings for a laptop's CPU. Prints one JSON line per evaluation. With seed 1337 and `--bias 0`, losses of training
are those of nanoGPT's own `train.py` as long as nothing is evaluated in between (its evaluations draw from the same generator).
"""

import argparse
import json
import math
import sys
import time

import torch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nanogpt", required=True, help="a checkout of karpathy/nanoGPT")
    parser.add_argument("--text", required=True, help="its first nine tenths are learned, the rest validates")
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--bias", type=int, default=0, help="biases in linear layers and norms")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=250, help="steps between evaluations")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def rate(step, steps, peak=1e-3, floor=1e-4, warm=100):
    if step < warm:
        return peak * (step + 1) / (warm + 1)
    return floor + 0.5 * (1.0 + math.cos(math.pi * (step - warm) / (steps - warm))) * (peak - floor)


def window(data, block, batch):
    """Windows at random places, drawn as nanoGPT draws them."""
    places = torch.randint(len(data) - block, (batch,))
    inputs = torch.stack([data[place : place + block] for place in places])
    targets = torch.stack([data[place + 1 : place + 1 + block] for place in places])
    return inputs, targets


@torch.no_grad()
def validate(model, data, block, batch=64):
    """The mean loss over windows that follow one another: every target once, with 0 to block - 1 characters before it."""
    model.eval()
    windows = (len(data) - 1) // block
    inputs = data[: windows * block].view(windows, block)
    targets = data[1 : windows * block + 1].view(windows, block)
    total = 0.0
    for begin in range(0, windows, batch):
        _, loss = model(inputs[begin : begin + batch], targets[begin : begin + batch])
        total += loss.item() * len(inputs[begin : begin + batch])
    model.train()
    return total / windows


def main():
    options = arguments()
    sys.path.insert(0, options.nanogpt)
    from model import GPT, GPTConfig  # nanoGPT's

    torch.set_num_threads(options.threads)
    text = open(options.text, encoding="utf-8").read()
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    data = torch.tensor([numbers[character] for character in text])
    split = int(len(data) * 0.9)
    learned, held_out = data[:split], data[split:]

    torch.manual_seed(options.seed)
    shape = GPTConfig(
        n_layer=options.layers,
        n_head=options.heads,
        n_embd=options.width,
        block_size=options.block,
        bias=bool(options.bias),
        vocab_size=len(characters),
        dropout=options.dropout,
    )
    model = GPT(shape)
    optimiser = model.configure_optimizers(0.1, 1e-3, (0.9, 0.99), "cpu")
    batch = window(learned, options.block, options.batch)
    spent = 0.0
    recent = []
    for step in range(options.steps + 1):
        if step % options.every == 0 or step == options.steps:
            record = {
                "seed": options.seed,
                "bias": options.bias,
                "step": step,
                "validation": round(validate(model, held_out, options.block), 4),
                "learned": round(sum(recent) / len(recent), 4) if recent else None,
                "seconds": round(spent, 1),
            }
            print(json.dumps(record), flush=True)
            recent = []
        if step == options.steps:
            break
        begin = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = rate(step, options.steps)
        _, loss = model(*batch)
        batch = window(learned, options.block, options.batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        recent.append(loss.item())
        spent += time.perf_counter() - begin


main()
