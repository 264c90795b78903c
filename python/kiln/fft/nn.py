"""Layers on ComplexTensors; needs torch."""

import torch
from torch import nn

from . import _products
from .complex import ComplexTensor
from .nki.dispatch import complex_linear


def _bias(module, features, wanted):
    """The parameters bias_re and bias_im of a layer, zero, or None."""
    for name in ("bias_re", "bias_im"):
        module.register_parameter(name, nn.Parameter(torch.zeros(features)) if wanted else None)


class ComplexLinear(nn.Module):
    """W x + b for complex numbers: (Wr xr - Wi xi, Wr xi + Wi xr). Parameters are named and begin as in trnfft, so that
    what was saved there can be loaded."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.W_re = nn.Linear(in_features, out_features, bias=False)
        self.W_im = nn.Linear(in_features, out_features, bias=False)
        _bias(self, out_features, bias)
        self.reset_parameters()

    def reset_parameters(self):
        for part in (self.W_re, self.W_im):
            part.reset_parameters()

    def forward(self, x):
        y = complex_linear(x, self.W_re.weight, self.W_im.weight)
        if self.bias_re is None:
            return y
        return ComplexTensor(y.real + self.bias_re, y.imag + self.bias_im)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias_re is not None}"


class ComplexConv1d(nn.Module):
    """A convolution of complex channels, (batch, channels, length): one complex product for each group."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True, dilation=1, groups=1):
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"groups: {groups} does not divide {in_channels} and {out_channels} channels")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = (
            v[0] if isinstance(v, tuple) else v for v in (kernel_size, stride, padding, dilation))
        self.conv_re, self.conv_im = (  # what they hold; their forward passes are not used
            nn.Conv1d(in_channels, out_channels, self.kernel_size, self.stride, self.padding, self.dilation, groups,
                      bias=False) for _ in range(2))
        _bias(self, out_channels, bias)

    def _columns(self, part):
        """(batch, length out, channels, kernel) of one part."""
        if self.padding:
            part = nn.functional.pad(part, (self.padding, self.padding))
        span = self.dilation * (self.kernel_size - 1) + 1
        return part.unfold(-1, span, self.stride)[..., ::self.dilation].permute(0, 2, 1, 3)

    def forward(self, x):
        x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
        single = x.ndim == 2
        x = x.unsqueeze(0) if single else x
        re, im = self._columns(x.real), self._columns(x.imag)
        ins, outs = self.in_channels // self.groups, self.out_channels // self.groups
        results = []
        for g in range(self.groups):
            channels, rows = slice(g * ins, (g + 1) * ins), slice(g * outs, (g + 1) * outs)
            columns = ComplexTensor(re[:, :, channels].flatten(2), im[:, :, channels].flatten(2))
            weights = (c.weight[rows].flatten(1) for c in (self.conv_re, self.conv_im))
            results.append(complex_linear(columns, *weights))
        y_re = torch.cat([r.real for r in results], -1).transpose(1, 2)
        y_im = torch.cat([r.imag for r in results], -1).transpose(1, 2)
        if self.bias_re is not None:
            y_re, y_im = y_re + self.bias_re[:, None], y_im + self.bias_im[:, None]
        y = ComplexTensor(y_re, y_im)
        return y.squeeze(0) if single else y


class ComplexBatchNorm1d(nn.Module):
    """Batch normalisation of real and imaginary parts, each by itself."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.bn_re = nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats)
        self.bn_im = nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x):
        return ComplexTensor(self.bn_re(x.real), self.bn_im(x.imag))


class ComplexModReLU(nn.Module):
    """relu(|z| + b) z / |z| with a bias for each feature: the last axis, or axis 1 of (batch, features, length)."""

    def __init__(self, num_features):
        super().__init__()
        self.num_features = num_features
        self.bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
        if x.ndim >= 3 and x.shape[1] == self.num_features and x.shape[-1] != self.num_features:
            return _products.mod_relu(x.transpose(1, -1), self.bias).transpose(1, -1)
        return _products.mod_relu(x, self.bias)
