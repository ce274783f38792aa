"""Writes train_torch.json: losses, gradients and parameters after steps of AdamW of two tiny models, by PyTorch.

The models are written in plain PyTorch, in double precision, with its own norms, attention, activations, loss and optimiser.
Weights, tokens and targets follow from formulas, so that the test makes the same ones. Run it in this folder:

    python train_torch.py
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

BATCH, LENGTH, IGNORED = 3, 7, -100
STEPS = 3
# A bias of keys changes nothing, so that its gradient is rounding alone: an eps of 1e-8 would make steps of that.
ADAMW = {"lr": 0.01, "betas": (0.9, 0.95), "eps": 1e-4}
DECAY = 0.1

GPT2 = {"name": "gpt2", "vocab": 13, "context": 8, "width": 12, "layers": 2, "heads": 3, "kv_heads": 3, "head_dim": 4, "ffn": 20}
LLAMA = {"name": "llama", "vocab": 13, "context": 8, "width": 12, "layers": 2, "heads": 6, "kv_heads": 2, "head_dim": 4, "ffn": 18}
EPS, BASE = 1e-5, 10000.0


def shapes(model):
    """Names as in GGUF; shapes as in PyTorch, outputs first. GPT-2 ties its head to the embedding, LLaMA does not."""
    gpt2 = model["name"] == "gpt2"
    width, ffn = model["width"], model["ffn"]
    queries, keys = model["heads"] * model["head_dim"], model["kv_heads"] * model["head_dim"]
    yield "token_embd.weight", (model["vocab"], width)
    if gpt2:
        yield "position_embd.weight", (model["context"], width)

    def linear(name, outputs, inputs):
        yield f"{name}.weight", (outputs, inputs)
        if gpt2:
            yield f"{name}.bias", (outputs,)

    def norm(name):
        yield f"{name}.weight", (width,)
        if gpt2:
            yield f"{name}.bias", (width,)

    for layer in range(model["layers"]):
        at = f"blk.{layer}."
        yield from norm(at + "attn_norm")
        if gpt2:
            yield from linear(at + "attn_qkv", queries + 2 * keys, width)
        else:
            yield from linear(at + "attn_q", queries, width)
            yield from linear(at + "attn_k", keys, width)
            yield from linear(at + "attn_v", keys, width)
        yield from linear(at + "attn_output", width, queries)
        yield from norm(at + "ffn_norm")
        if not gpt2:
            yield from linear(at + "ffn_gate", ffn, width)
        yield from linear(at + "ffn_up", ffn, width)
        yield from linear(at + "ffn_down", width, ffn)
    yield from norm("output_norm")
    if not gpt2:
        yield "output.weight", (model["vocab"], width)


def values(name, shape):
    phase = sum(name.encode()) % 97
    middle = 1.0 if name.endswith("norm.weight") else 0.0
    flat = [middle + 0.5 * math.sin(0.7 * index + phase) for index in range(math.prod(shape))]
    # What f32 keeps of them.
    return torch.tensor(flat).to(torch.float32).to(torch.float64).reshape(shape).requires_grad_()


def text(vocab):
    rows = range(BATCH * LENGTH)
    tokens = [(3 * row * row + 5 * row + 1) % vocab for row in rows]
    targets = [IGNORED if row % 5 == 3 else (7 * row + 2) % vocab for row in rows]
    return torch.tensor(tokens).reshape(BATCH, LENGTH), torch.tensor(targets).reshape(BATCH, LENGTH)


def turned(x):
    """Rotary positions of (batch, head, position, head_dim): pairs are neighbours."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    count = pairs.shape[-1]
    frequencies = BASE ** (-torch.arange(count) / count)
    angles = torch.arange(x.shape[-2]).to(torch.float64)[:, None] * frequencies
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def forward(model, p, tokens):
    gpt2 = model["name"] == "gpt2"
    width, head_dim = model["width"], model["head_dim"]

    def linear(name, x):
        return F.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias"))

    def norm(name, x):
        if gpt2:
            return F.layer_norm(x, (width,), p[f"{name}.weight"], p[f"{name}.bias"], EPS)
        return F.rms_norm(x, (width,), p[f"{name}.weight"], EPS)

    def heads(x):
        return x.reshape(BATCH, LENGTH, -1, head_dim).transpose(1, 2)

    x = F.embedding(tokens, p["token_embd.weight"])
    if gpt2:
        x = x + p["position_embd.weight"][:LENGTH]
    for layer in range(model["layers"]):
        at = f"blk.{layer}."
        h = norm(at + "attn_norm", x)
        if gpt2:
            q, k, v = (heads(part) for part in linear(at + "attn_qkv", h).chunk(3, dim=-1))
        else:
            q, k, v = (heads(linear(at + f"attn_{part}", h)) for part in "qkv")
            q, k = turned(q), turned(k)
        group = model["heads"] // model["kv_heads"]
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(at + "attn_output", attended.transpose(1, 2).flatten(-2))
        h = norm(at + "ffn_norm", x)
        if gpt2:
            h = F.gelu(linear(at + "ffn_up", h), approximate="tanh")
        else:
            h = F.silu(linear(at + "ffn_gate", h)) * linear(at + "ffn_up", h)
        x = x + linear(at + "ffn_down", h)
    head = p["token_embd.weight"] if gpt2 else p["output.weight"]
    return F.linear(norm("output_norm", x), head)


def told(tensor):
    """The sum, the length, and eight values from end to end."""
    flat = tensor.detach().flatten()
    places = [index * (len(flat) - 1) // 7 for index in range(8)]
    return {"sum": flat.sum().item(), "norm": flat.norm().item(), "values": [flat[place].item() for place in places]}


def run(model):
    p = {name: values(name, shape) for name, shape in shapes(model)}
    decays = [tensor for tensor in p.values() if tensor.dim() > 1]
    others = [tensor for tensor in p.values() if tensor.dim() == 1]
    groups = [{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, **ADAMW)
    tokens, targets = text(model["vocab"])
    losses, gradients = [], None
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss = F.cross_entropy(forward(model, p, tokens).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or {name: told(tensor.grad) for name, tensor in p.items()}
        optimiser.step()
    after = {name: told(tensor) for name, tensor in p.items()}
    return {"sizes": model, "losses": losses, "gradients": gradients, "parameters": after}


def main():
    made = {"torch": torch.__version__.split("+")[0], "models": [run(GPT2), run(LLAMA)]}
    target = pathlib.Path(__file__).with_suffix(".json")
    target.write_text(json.dumps(made, indent=1) + "\n")


main()
