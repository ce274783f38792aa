"""PyTorch's steps of training a GPT-2 on weights and tokens from a seed: forward, backward, AdamW.

    python pytorch.py VOCABULARY CONTEXT WIDTH LAYERS HEADS BATCH LENGTH --threads 1 [--untied] [--optimiser fused|foreach] [--compile]

It prints {"parameters":P} when it is warm. Then each line of its input is a number of steps, answered with {"seconds":S,"loss":L}.
"""

import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        hidden = functional.gelu(self.up(self.feed_forward_norm(x)), approximate="tanh")
        return x + self.down(hidden)


class Gpt2(nn.Module):
    def __init__(self, options):
        super().__init__()
        width = options.width
        self.tokens = nn.Embedding(options.vocabulary, width)
        self.positions = nn.Embedding(options.context, width)
        self.blocks = nn.ModuleList(Block(width, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, options.vocabulary, bias=False)
        if not options.untied:
            self.head.weight = self.tokens.weight
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("vocabulary", "context", "width", "layers", "heads", "batch", "length"):
        parser.add_argument(name, type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--untied", action="store_true", help="a head of its own beside the embeddings")
    parser.add_argument("--optimiser", choices=["fused", "foreach"], default="fused")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = Gpt2(options)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, **{options.optimiser: True})
    text = torch.randint(options.vocabulary, (options.batch * options.length + 1,))
    tokens = text[:-1].view(options.batch, options.length)
    targets = text[1:].view(options.batch, options.length)
    passed = torch.compile(model) if options.compile else model

    def steps(number):
        begin = time.perf_counter()
        for _ in range(number):
            loss = passed(tokens, targets)
            loss.backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return {"seconds": time.perf_counter() - begin, "loss": loss.item()}

    steps(2)
    print(json.dumps({"parameters": sum(parameter.numel() for parameter in model.parameters())}), flush=True)
    for line in sys.stdin:
        print(json.dumps(steps(int(line))), flush=True)


main()
