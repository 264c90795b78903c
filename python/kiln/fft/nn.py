"""Layers on ComplexTensors; needs torch."""

import torch
from torch import nn

from . import _products
from .complex import ComplexTensor
from .nki.dispatch import complex_linear


class ComplexLinear(nn.Module):
    """W x + b for complex numbers: (Wr xr - Wi xi, Wr xi + Wi xr)."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_real = nn.Parameter(torch.empty(out_features, in_features))
        self.weight_imag = nn.Parameter(torch.empty(out_features, in_features))
        if bias:
            self.bias_real = nn.Parameter(torch.zeros(out_features))
            self.bias_imag = nn.Parameter(torch.zeros(out_features))
        else:
            self.register_parameter("bias_real", None)
            self.register_parameter("bias_imag", None)
        self.reset_parameters()

    def reset_parameters(self):
        for weight in (self.weight_real, self.weight_imag):
            nn.init.xavier_uniform_(weight, gain=2.0 ** -0.5)

    def forward(self, x):
        y = complex_linear(x, self.weight_real, self.weight_imag)
        if self.bias_real is None:
            return y
        return ComplexTensor(y.real + self.bias_real, y.imag + self.bias_imag)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias_real is not None}"


class ComplexConv1d(nn.Module):
    """A convolution of complex channels, (batch, channels, length): one complex product for each group."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"groups: {groups} does not divide {in_channels} and {out_channels} channels")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = (
            v[0] if isinstance(v, tuple) else v for v in (kernel_size, stride, padding, dilation))
        shape = (out_channels, in_channels // groups, self.kernel_size)
        self.weight_real, self.weight_imag = nn.Parameter(torch.empty(shape)), nn.Parameter(torch.empty(shape))
        for weight in (self.weight_real, self.weight_imag):
            nn.init.xavier_uniform_(weight, gain=2.0 ** -0.5)
        if bias:
            self.bias_real = nn.Parameter(torch.zeros(out_channels))
            self.bias_imag = nn.Parameter(torch.zeros(out_channels))
        else:
            self.register_parameter("bias_real", None)
            self.register_parameter("bias_imag", None)

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
            weights = (w[rows].flatten(1) for w in (self.weight_real, self.weight_imag))
            results.append(complex_linear(columns, *weights))
        y_re = torch.cat([r.real for r in results], -1).transpose(1, 2)
        y_im = torch.cat([r.imag for r in results], -1).transpose(1, 2)
        if self.bias_real is not None:
            y_re, y_im = y_re + self.bias_real[:, None], y_im + self.bias_imag[:, None]
        y = ComplexTensor(y_re, y_im)
        return y.squeeze(0) if single else y


class ComplexBatchNorm1d(nn.Module):
    """Batch normalisation of real and imaginary parts, each by itself."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.bn_real = nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats)
        self.bn_imag = nn.BatchNorm1d(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x):
        return ComplexTensor(self.bn_real(x.real), self.bn_imag(x.imag))


class ComplexModReLU(nn.Module):
    """relu(|z| + b) z / |z| with a bias for each feature: the last axis, or axis 1 of (batch, features, length)."""

    def __init__(self, features):
        super().__init__()
        self.features = features
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        x = x if isinstance(x, ComplexTensor) else ComplexTensor(x)
        if x.ndim >= 3 and x.shape[1] == self.features and x.shape[-1] != self.features:
            return _products.mod_relu(x.transpose(1, -1), self.bias).transpose(1, -1)
        return _products.mod_relu(x, self.bias)
