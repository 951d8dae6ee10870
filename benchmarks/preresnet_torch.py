#!/usr/bin/env python3
"""Time one training step of the pre-activation ResNet-20 for CIFAR-10 in PyTorch.

A 3x3 convolution to 16 channels; three stages of three blocks

    h <- shortcut(h) + W2 g(W1 g(h)),    g = ReLU after batch normalisation,

with 16, 32 and 64 channels and 3x3 convolutions W1, W2 without bias; g, the average over
the image and a dense layer. The first block of the second and third stage has stride 2
and a 1x1 convolution of stride 2 as its shortcut; the other shortcuts are the identity.

A step is forward, cross entropy, backward and one fused Adam update, in float32.
Prints one JSON object per memory format: bench, case, formulation, seconds (best of
the repeats).
"""

import torch
from torch import nn
from torch.nn import functional

from timing import keep_freed_memory, options, report, start, time_classifier

SIDE = 32
CHANNELS = [16, 32, 64]
BLOCKS = 3
CLASSES = 10
PARAMETERS = 272_282
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


def activation(channels):
    """Return g."""
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU(inplace=True))


def conv(inputs, outputs, size, stride=1):
    """Return a convolution without bias that keeps the image size, up to its stride."""
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    """A residual block; where the number of channels changes, it halves the image."""

    def __init__(self, inputs, outputs):
        super().__init__()
        same = inputs == outputs
        self.shortcut = nn.Identity() if same else conv(inputs, outputs, 1, 2)
        self.body = nn.Sequential(
            activation(inputs), conv(inputs, outputs, 3, 1 if same else 2),
            activation(outputs), conv(outputs, outputs, 3),
        )

    def forward(self, h):
        return self.body(h).add_(self.shortcut(h))


def preresnet():
    """Return the network from images [batch, 3, SIDE, SIDE] to scores [batch, CLASSES]."""
    layers, inputs = [conv(3, CHANNELS[0], 3)], CHANNELS[0]
    for outputs in CHANNELS:
        for _ in range(BLOCKS):
            layers.append(Block(inputs, outputs))
            inputs = outputs
    layers += [activation(inputs), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(inputs, CLASSES))


def build(batch, memory_format):
    """Return the network, images [batch, 3, SIDE, SIDE] and classes [batch], random."""
    torch.manual_seed(0)
    model = preresnet().to(memory_format=memory_format)
    images = torch.randn(batch, 3, SIDE, SIDE).contiguous(memory_format=memory_format)
    return model, images, torch.randint(CLASSES, (batch,))


def check():
    """Check the number of parameters, and that the memory formats agree."""
    torch.set_default_dtype(torch.float64)
    results = []
    for memory_format in FORMATS.values():
        model, images, classes = build(4, memory_format)
        assert sum(p.numel() for p in model.parameters()) == PARAMETERS
        assert model[:-4](images).shape == (4, CHANNELS[-1], SIDE // 4, SIDE // 4)
        scores = model(images)
        functional.cross_entropy(scores, classes).backward()
        results.append([scores, *(p.grad for p in model.parameters())])
    for value, expected in zip(*results):
        torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-11)
    print(f"{PARAMETERS} parameters; scores and gradients agree: {', '.join(FORMATS)}")


def main():
    parser = options(__doc__, repeats=10, warmup=2)
    parser.add_argument("--batch", type=int, default=128, help="images")
    parser.add_argument("--mode", choices=["train"], default="train", help="accepted for symmetry")
    parser.add_argument("--formulation", nargs="+", choices=list(FORMATS), default=list(FORMATS),
                        help="memory format")
    parser.add_argument("--check", action="store_true", help="check the model instead")
    args = start(parser)
    keep_freed_memory()
    if args.check:
        return check()
    for name in args.formulation:
        seconds = time_classifier(*build(args.batch, FORMATS[name]), args)
        report("preresnet", f"batch={args.batch} mode=train", seconds, formulation=name)


if __name__ == "__main__":
    main()
