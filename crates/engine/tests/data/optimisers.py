"""Steps of PyTorch's optimisers, for tests/it/optimiser.rs: `python3 optimisers.py > optimisers.txt`.

Six values decay, four do not. Gradients and first values are fractions that f32 has exactly, made by the same formulas in the test.
"""

import torch

STEPS = [1, 2, 3, 10, 100, 1000]


def gradient(step, i):
    return ((step * 7 + i * 13) % 11 - 5) / 4 + i / 64


def run(name, make, norm=None, value=None):
    decaying = torch.tensor([(i - 2) / 8 for i in range(6)], requires_grad=True)
    staying = torch.tensor([(i + 1) / 8 for i in range(4)], requires_grad=True)
    optimiser = make(decaying, staying)
    for step in range(1, max(STEPS) + 1):
        decaying.grad = torch.tensor([gradient(step, i) for i in range(6)])
        staying.grad = torch.tensor([gradient(step, i + 6) for i in range(4)])
        if norm is not None:
            torch.nn.utils.clip_grad_norm_([decaying, staying], norm)
        if value is not None:
            torch.nn.utils.clip_grad_value_([decaying, staying], value)
        optimiser.step()
        if step in STEPS:
            values = torch.cat([decaying, staying]).tolist()
            print(name, step, *(f"{value:.9g}" for value in values))


def adamw(decaying, staying):
    groups = [{"params": [decaying], "weight_decay": 0.1}, {"params": [staying], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.999), eps=1e-8)


def sgd(momentum):
    def make(decaying, staying):
        groups = [{"params": [decaying], "weight_decay": 0.1}, {"params": [staying], "weight_decay": 0.0}]
        return torch.optim.SGD(groups, lr=0.01, momentum=momentum)

    return make


print("# PyTorch", torch.__version__.split("+")[0])
run("adamw", adamw)
run("adamw-norm", adamw, norm=1.0)
run("adamw-value", adamw, value=0.5)
run("sgd", sgd(0.0))
run("sgd-momentum", sgd(0.9))
run("sgd-norm", sgd(0.9), norm=1.0)
