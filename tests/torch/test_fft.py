"""kiln.fft on torch tensors: the names and results of trnfft, layers, gradients by transforms."""

import functools
import importlib
import os
import sys

import numpy as np
import pytest
import torch

from kiln import blas, fft
from kiln.blas._backend import scope
from kiln.fft import nki, nn

SEED = int(os.environ["KILN_SEED"])
C = fft.ComplexTensor


@pytest.fixture(params=("pytorch", "nki"))
def word(request):
    torch.manual_seed(SEED)
    before = fft.get_backend()
    fft.set_backend(request.param)
    yield request.param
    fft.set_backend(before)


def pair(*shape, grad=False, dtype=torch.float32):
    return C(*(torch.randn(*shape, dtype=dtype).requires_grad_(grad) for _ in range(2)))


def close(got, want, rtol=2e-6):
    got = got.to_torch_complex() if isinstance(got, C) else got
    want = want.to_torch_complex() if isinstance(want, C) else want
    assert got.shape == want.shape
    assert (got - want).abs().max() <= rtol * want.abs().max().clamp(min=1e-30), (got - want).abs().max()


def test_trnfft_is_another_name_for_it(monkeypatch):
    for name in [n for n in sys.modules if n == "kiln.fft" or n.startswith("kiln.fft.")]:
        monkeypatch.setitem(sys.modules, "trnfft" + name[len("kiln.fft"):], sys.modules[name])
    trnfft = importlib.import_module("trnfft")
    for name in ("ComplexTensor", "complex_matmul", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "fftn",
                 "ifftn", "rfft2", "rfftn", "irfft2", "irfftn", "stft", "istft", "create_plan", "clear_plan_cache",
                 "FFTPlan", "set_precision", "get_precision", "set_ozaki_product_precision_verified", "set_backend",
                 "get_backend"):
        assert hasattr(trnfft, name), name
    for name in ("complex_gemm", "complex_linear", "complex_mask_apply", "set_multicore", "get_multicore",
                 "multi_core_fft", "set_backend", "get_backend", "HAS_NKI"):
        assert hasattr(trnfft.nki, name), name
    assert trnfft.nn.ComplexLinear is nn.ComplexLinear


def test_complex_tensors(word):
    a, b = pair(3, 4), pair(3, 4)
    ta, tb = a.to_torch_complex(), b.to_torch_complex()
    close(a + b, ta + tb)
    close(a - b, ta - tb)
    close(a * b, ta * tb)
    close(-a, -ta)
    close(a + 2, ta + 2)
    close(3 * a, 3 * ta)
    close(2 - a, 2 - ta)
    close(a * (1 + 2j), ta * (1 + 2j))
    close(a * torch.ones(4), ta)
    close(a + torch.ones(2, 3, 4), ta + torch.ones(2, 3, 4))
    close(a @ b.transpose(0, 1), ta @ tb.T)
    real = torch.randn(4)
    for got, want in ((real * a, real * ta), (real + a, real + ta), (real - a, real - ta), (ta * a, ta * ta)):
        assert isinstance(got, C)
        close(got, want)
    assert torch.allclose(a, ta) and isinstance(torch.stack([a, a]), C) and not isinstance(torch.abs(a), C)
    np.testing.assert_array_equal(np.asarray(a), ta.numpy())
    close(a.abs(), ta.abs())
    close(a.angle(), ta.angle())
    close(a.conj(), ta.conj())
    close(C.from_polar(a.abs(), a.angle()), ta)
    close(C(ta), ta)
    close(a.reshape(4, 3), ta.reshape(4, 3))
    close(a.unsqueeze(0).squeeze(0)[1], ta[1])
    assert a.clone().real is not a.real and a.dtype == torch.float32 and a.shape == (3, 4)
    assert a.to(torch.float64).dtype == torch.float64
    for wrong in ((torch.ones(2), torch.ones(3)), (torch.ones(2), torch.ones(2, dtype=torch.float64))):
        with pytest.raises(AssertionError):
            C(*wrong)


@pytest.mark.parametrize("n", [8, 7, 100, 257, 360])
def test_transforms(word, n):
    x = pair(3, n)
    t = x.to_torch_complex()
    close(fft.fft(x), torch.fft.fft(t))
    close(fft.ifft(t), torch.fft.ifft(t))
    close(fft.fft(x.real), torch.fft.fft(x.real))
    close(fft.rfft(x.real), torch.fft.rfft(x.real))
    close(fft.rfft(x), torch.fft.fft(t)[:, : n // 2 + 1])
    close(fft.irfft(fft.rfft(x.real), n), x.real)
    close(fft.hfft(x[:, : n // 2 + 1], n), torch.fft.hfft(t[:, : n // 2 + 1], n), 4e-6)
    close(fft.ihfft(x.real), torch.fft.ihfft(x.real))
    close(fft.fftn(x, (4, 9), (0, 1)), torch.fft.fftn(t, (4, 9), (0, 1)))
    close(fft.irfft2(fft.rfft2(x.real), (3, n)), x.real)
    close(fft.fft(x, dim=0, norm="ortho"), torch.fft.fft(t, dim=0, norm="ortho"))
    assert isinstance(fft.fft(x), C) and not isinstance(fft.irfft(x), C)
    half = fft.fft(x.to(torch.bfloat16))
    assert half.dtype == torch.bfloat16


def test_gradients_of_transforms(word):
    cases = {
        "fft": (lambda f, x: f.fft(x, 12), True), "ifft": (lambda f, x: f.ifft(x, 7, dim=0), True),
        "rfft": (lambda f, x: f.rfft(x, 13), False), "irfft": (lambda f, x: f.irfft(x, 11), True),
        "irfft_even": (lambda f, x: f.irfft(x, 12, norm="ortho"), True), "hfft": (lambda f, x: f.hfft(x), True),
        "ihfft": (lambda f, x: f.ihfft(x), False), "fftn": (lambda f, x: f.fftn(x, (5, 6), (0, 1)), True),
        "irfft2": (lambda f, x: f.irfft2(x), True), "rfftn": (lambda f, x: f.rfftn(x), False),
    }
    for call, is_complex in cases.values():
        x = torch.randn(4, 10, dtype=torch.complex64 if is_complex else torch.float32).requires_grad_()
        y = x.detach().clone().requires_grad_()
        want = call(torch.fft, y)
        weights = torch.randn_like(want)
        (want * weights).real.sum().backward() if want.is_complex() else (want * weights).sum().backward()
        got = call(fft, x)
        got = got.to_torch_complex() if isinstance(got, C) else got
        close(got.detach(), want.detach())
        (got * weights).real.sum().backward() if got.is_complex() else (got * weights).sum().backward()
        close(x.grad, y.grad)


def test_gradients_of_gradients():
    torch.manual_seed(SEED)
    x = torch.randn(2, 6, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: fft.rfft(v).abs(), x)
    assert torch.autograd.gradgradcheck(lambda v: fft.irfft(fft.rfft(v), 5), x)


def test_gradients_of_cosine_transforms():
    torch.manual_seed(SEED)
    x = torch.randn(2, 5, dtype=torch.float64).requires_grad_()
    for name in ("dct", "idct", "dst", "idst"):
        for kind in (1, 2, 3, 4):
            for norm in (None, "ortho"):
                for n in (None, 4, 7):
                    asked = functools.partial(getattr(fft, name), type=kind, n=n, norm=norm)
                    assert torch.autograd.gradcheck(asked, x), (name, kind, norm, n)
    assert torch.autograd.gradgradcheck(lambda v: fft.dct(v, 1, axis=0), x)


def test_gradients_of_hankel_transforms(word):
    x = torch.randn(2, 7, dtype=torch.float64).requires_grad_()
    for bias in (0.0, 0.3):
        assert torch.autograd.gradcheck(lambda v, bias=bias: fft.fht(v, 0.1, 0.5, bias=bias), x)
        close(fft.ifht(fft.fht(x, 0.1, 0.5, 0.2, bias), 0.1, 0.5, 0.2, bias), x, 1e-11)
    assert fft.fht(x.float(), 0.1, 0.5).dtype == torch.float32


@pytest.mark.parametrize("m, k, n", [(128, 128, 512), (251, 129, 65), (1, 257, 3), (130, 1, 513)])
def test_f4_products_of_any_size(word, m, k, n):
    a, b = pair(m, k), pair(k, n)
    close(nki.complex_gemm(a, b), a.to_torch_complex() @ b.to_torch_complex(), 1e-5)
    close(nki.complex_gemm(a, b, products=3), a.to_torch_complex() @ b.to_torch_complex(), 2e-5)
    w = pair(n, k)
    close(nki.complex_linear(a, w.real, w.imag), a.to_torch_complex() @ w.to_torch_complex().T, 1e-5)
    assert fft.last_call().backend == ("native" if word == "pytorch" else "simulator")


@pytest.mark.parametrize("m, k, n", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)])
def test_products_of_no_numbers(word, m, k, n):
    a, b = pair(m, k), pair(k, n)
    want = a.to_torch_complex() @ b.to_torch_complex()
    weight = b.transpose(0, 1)
    found = [nki.complex_gemm(a, b), a @ b, nki.complex_linear(a, weight.real, weight.imag)]
    for z in (*found, nki.complex_linear(pair(4, m, k), weight.real, weight.imag)[0], (pair(4, m, k) @ b)[0],
              (pair(4, m, k) @ pair(4, k, n))[0]):
        assert z.shape == want.shape and not z.real.any()
    assert (pair(0, 2, 3) @ pair(0, 3, 4)).shape == (0, 2, 4)


def test_masks_and_products(word):
    for shape in ((64, 32), (251, 7), (3, 1, 5)):
        m, s = pair(*shape), pair(*shape)
        close(nki.complex_mask_apply(m, s), m.to_torch_complex() * s.to_torch_complex())
    a, b = pair(2, 3, 4), pair(4, 5)
    close(fft.complex_matmul(a, b), a.to_torch_complex() @ b.to_torch_complex())
    a, b = pair(2, 3, 4), pair(2, 4, 5)
    close(a @ b, a.to_torch_complex() @ b.to_torch_complex())


def test_gradients_of_products(word):
    shapes = {"gemm": ((5, 4), (4, 3)), "linear": ((5, 4), (3, 4)), "mul": ((5, 4), (5, 4))}
    calls = {"gemm": (nki.complex_gemm, lambda a, b: a @ b),
             "linear": (lambda a, b: nki.complex_linear(a, b.real, b.imag), lambda a, b: a @ b.T),
             "mul": (nki.complex_mask_apply, lambda a, b: a * b)}
    for name, (sa, sb) in shapes.items():
        a, b = pair(*sa, grad=True), pair(*sb, grad=True)
        ta, tb = (z.to_torch_complex().detach().requires_grad_() for z in (a, b))
        want = calls[name][1](ta, tb)
        weights = torch.randn_like(want)
        (want * weights).real.sum().backward()
        (calls[name][0](a, b).to_torch_complex() * weights).real.sum().backward()
        for z, t in ((a, ta), (b, tb)):
            close(torch.complex(z.real.grad, z.imag.grad), t.grad, 1e-5)


def test_layers(word):
    x = pair(6, 10)
    t = x.to_torch_complex()
    linear = nn.ComplexLinear(10, 7)
    w = torch.complex(linear.W_re.weight, linear.W_im.weight)
    close(linear(x), t @ w.T + torch.complex(linear.bias_re, linear.bias_im), 1e-5)
    assert nn.ComplexLinear(10, 7, bias=False)(x).shape == (6, 7)
    conv = nn.ComplexConv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2)
    z = pair(2, 4, 21)
    f = torch.nn.functional.conv1d
    options = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
    re = f(z.real, conv.conv_re.weight, None, **options) - f(z.imag, conv.conv_im.weight, None, **options)
    im = f(z.imag, conv.conv_re.weight, None, **options) + f(z.real, conv.conv_im.weight, None, **options)
    close(conv(z), torch.complex(re, im), 1e-5)
    norm = nn.ComplexBatchNorm1d(10)
    out = norm(x)
    assert out.real.mean(0).abs().max() < 1e-5 and out.shape == x.shape
    act = nn.ComplexModReLU(10)
    with torch.no_grad():
        act.bias.copy_(torch.linspace(-1, 1, 10))
    size = t.abs()
    close(act(x), torch.relu(size + act.bias) * t / size, 1e-5)
    assert torch.isfinite(act(C(torch.zeros(2, 10))).real).all()


@pytest.mark.parametrize("rows, features", [(7, 10), (130, 3)])
def test_mod_relu_backward_is_a_kernel(rows, features):
    """Against torch's own gradients in float64."""
    layer = nn.ComplexModReLU(features)
    with torch.no_grad():
        layer.bias.copy_(torch.randn(features))
    x, g = pair(rows, features, grad=True), pair(rows, features)
    with scope("simulator"):
        y = layer(x)
    (y.real * g.real + y.imag * g.imag).sum().backward()
    assert fft.last_call().operation == "mod_relu_backward" and fft.last_call().backend == "simulator"
    re, im, bias = (t.detach().double().requires_grad_() for t in (x.real, x.imag, layer.bias))
    size = torch.sqrt(re * re + im * im)
    factor = torch.relu(size + bias) / size
    (re * factor * g.real.double() + im * factor * g.imag.double()).sum().backward()
    for found, want in ((x.real.grad, re.grad), (x.imag.grad, im.grad), (layer.bias.grad, bias.grad)):
        torch.testing.assert_close(found.double(), want, atol=1e-4, rtol=1e-4)


def test_layers_learn(word):
    model = torch.nn.Sequential(nn.ComplexLinear(10, 8), nn.ComplexModReLU(8), nn.ComplexBatchNorm1d(8),
                                nn.ComplexLinear(8, 2))
    x = pair(12, 10)
    model(x).abs().pow(2).sum().backward()
    for name, p in model.named_parameters():
        assert p.grad is not None and torch.isfinite(p.grad).all(), name
    assert model[0].W_re.weight.grad.abs().max() > 0


@pytest.mark.parametrize("n_fft, hop, samples", [(128, 64, 1600), (100, 33, 1001), (256, 64, 4000)])
def test_stft_is_torchs(word, n_fft, hop, samples):
    x = torch.randn(2, samples)
    window = torch.hann_window(n_fft)
    want = torch.stft(x, n_fft, hop, window=window, return_complex=True)
    got = fft.stft(x, n_fft, hop)
    close(got, want)
    back = torch.istft(want, n_fft, hop, window=window, length=samples)
    close(fft.istft(got, n_fft, hop, length=samples), back, 5e-6)
    y = x.clone().requires_grad_()
    fft.istft(fft.stft(y, n_fft, hop), n_fft, hop).pow(2).sum().backward()
    assert torch.isfinite(y.grad).all() and y.grad.abs().max() > 0


def test_stft_of_complex_signals_is_torchs(word):
    x, window = torch.randn(2, 500, dtype=torch.complex64), torch.hann_window(60)
    given = {"window": window, "onesided": False}
    want = torch.stft(x, 60, 15, return_complex=True, **given)
    got = fft.stft(x, 60, 15, **given)
    close(got, want)
    close(fft.stft(x, 60, 15, return_complex=False, **given), torch.view_as_real(want))
    close(fft.istft(got, 60, 15, return_complex=True, **given),
          torch.istft(want, 60, 15, return_complex=True, **given), 5e-6)


def test_many_cores(word):
    x = pair(5, 64)
    for cores in (0, 2, 3):
        nki.set_multicore(True, cores)
        assert nki.get_multicore()
        close(nki.multi_core_fft(x), torch.fft.fft(x.to_torch_complex()))
        close(nki.multi_core_fft(x, inverse=True), torch.fft.ifft(x.to_torch_complex()))
    nki.set_multicore(True)
    for one in (pair(60), pair(32768)):
        close(nki.multi_core_fft(one), torch.fft.fft(one.to_torch_complex()))
    with pytest.raises(NotImplementedError):
        nki.multi_core_fft(pair(127))
    nki.set_multicore(False)
    assert not nki.get_multicore()


def test_convolutions_of_half_precisions_are_rounded_once(word):
    x, y = 60 + torch.rand(3000), torch.rand(200) / 100  # the sum of x is more than float16 holds
    for dtype, rounding in ((torch.float16, 2**-11), (torch.bfloat16, 2**-8)):
        a, b = x.to(dtype), y.to(dtype)
        want = torch.from_numpy(np.convolve(a.double().numpy(), b.double().numpy()))
        got = fft.fftconvolve(a, b)
        assert got.dtype == dtype
        assert (got.double() - want).abs().max() <= 1.01 * rounding * want.abs().max()
        assert fft.fftconvolve(C(a, a), b).dtype == dtype
    assert fft.fftconvolve(x.half(), y).dtype == torch.float32
    close(fft.fftconvolve(x, y.double()), torch.from_numpy(np.convolve(x.double().numpy(), y.double().numpy())), 1e-13)


def test_arrays_and_tensors_agree(word):
    """To the last bit on a device; natively tensors are computed in float32, as by torch, and arrays as by NumPy."""
    x = torch.randn(3, 20)
    got, want = fft.rfft(x).numpy(), fft.rfft(x.numpy())
    if word == "nki":
        np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype and np.abs(got - want).max() <= 1e-6 * np.abs(want).max()


@pytest.mark.parametrize("n", [4097, 8193])
def test_double_is_better_than_fast(word, n):
    """A hundred times, as trnfft has it: its results are the nearest ones, those of `fast` are within 1e-6."""
    x, pulse = torch.randn(n), (torch.arange(n) == n // 3).float()
    want = np.fft.fft(x.double().numpy()).astype(np.complex64)
    errors = [np.abs(fft.fft(x, precision=mode).numpy() - want).max() for mode in ("fast", "double")]
    assert errors[0] <= 1e-6 * np.abs(want).max() and errors[1] < errors[0] / 100
    assert np.abs(fft.fft(pulse).numpy() - np.fft.fft(pulse.double().numpy())).max() <= 1e-6


@pytest.mark.parametrize("count", [1, 255, 256, 40000])
def test_numbers_of_float64_on_a_device(count):
    torch.manual_seed(SEED)

    def numbers():
        z = torch.randn(count, 2, dtype=torch.float64) * 10.0 ** torch.randint(-150, 150, (count, 1)).double()
        return torch.complex(z[:, 0], z[:, 1])

    x, y = numbers(), numbers()
    x[0] = 0
    got = nki.complex_multiply(*(fft.ComplexTensor(z.real, z.imag) for z in (x, y)), backend="simulator")
    assert fft.last_call().backend == "simulator" and got.real.dtype == torch.float64
    assert ((got.to_torch_complex() - x * y).abs() <= 2.0 ** -42 * x.abs() * y.abs()).all()
    y[0] = float("inf")
    got = nki.complex_multiply(*(fft.ComplexTensor(z.real, z.imag) for z in (x, y)), backend="simulator")
    assert got.real[0].isnan() and got.real[1:].isfinite().all()


@pytest.mark.parametrize("rows, features", [(1, 1), (3, 100), (70, 9)])
def test_mod_relu_of_float64_on_a_device(rows, features):
    torch.manual_seed(SEED)
    layer = nn.ComplexModReLU(features).double()
    with torch.no_grad():
        layer.bias += torch.randn(features) * 10.0 ** torch.randint(-9, 9, (features,)).double()
    z = torch.randn(rows, features, 2, dtype=torch.float64)
    z *= 10.0 ** torch.randint(-12, 12, (rows, features, 1)).double()
    z[0, 0] = 0
    x = fft.ComplexTensor(z[..., 0], z[..., 1])
    with blas._backend.scope("native"):
        want = layer(x)
    with blas._backend.scope("simulator"):
        got = layer(x)
    assert fft.last_call().backend == "simulator"
    bound = 2.0 ** -40 * (want.abs() + (torch.hypot(z[..., 0], z[..., 1]) + layer.bias.abs()))
    assert ((got.real - want.real).abs() <= bound).all() and ((got.imag - want.imag).abs() <= bound).all()
    x.real.requires_grad_()
    with blas._backend.scope("simulator"):
        layer(x).real.sum().backward()
    assert layer.bias.grad.isfinite().all()


def test_results_are_written_where_the_caller_says(word):
    """`out` was left as it was."""
    x = torch.randn(3, 8, dtype=torch.complex64)
    out, of_parts, real = torch.empty_like(x), pair(3, 8), torch.empty(3, 14)
    assert fft.fft(x, out=out) is out
    close(out, torch.fft.fft(x))
    assert fft.ifft(x, dim=0, out=of_parts) is of_parts
    close(of_parts, torch.fft.ifft(x, dim=0))
    assert fft.irfftn(x, dim=(0, 1), out=real) is real
    close(real, torch.fft.irfftn(x, dim=(0, 1)))
    for wrong, error in ((torch.empty(3, 8), TypeError), (torch.empty(3, 9), ValueError), (5, TypeError)):
        with pytest.raises(error, match="^out: "):
            fft.fft(x, out=wrong)
    with pytest.raises(ValueError, match="^out: what is written there has no gradient"):
        fft.fft(x.requires_grad_(), out=out)


def test_axes_of_tensors_do_not_repeat_and_last_lengths_are_filled_in(word):
    x = torch.randn(4, 5, dtype=torch.complex64)
    with pytest.raises(ValueError, match="^dim: axes repeat"):
        fft.fftn(x, dim=(0, 0))
    close(fft.irfftn(x, (3, -1)), torch.fft.irfftn(x, (3, -1)), 4e-6)


@pytest.mark.parametrize("n_fft, hop, win", [(16, None, None), (15, 7, 9), (100, 50, 1), (16, 1, 16), (1, 1, None)])
def test_short_time_transforms_of_many_arguments_are_torchs(word, n_fft, hop, win):
    for shape, dtype in (((101,), torch.float32), ((2, 64), torch.float64), ((2, 64), torch.complex64)):
        x = torch.randn(*shape, dtype=dtype)
        window = torch.hamming_window(win or n_fft, dtype=x.real.dtype)
        for center in (True, False):
            for mode in ("reflect", "constant", "replicate", "circular") if center else ("reflect",):
                for normalized in (False, True):
                    for onesided in (None, False):
                        if x.shape[-1] < n_fft and not center:
                            continue
                        given = {"center": center, "normalized": normalized, "onesided": onesided}
                        want = torch.stft(x, n_fft, hop, win, window, pad_mode=mode, return_complex=True, **given)
                        got = fft.stft(x, n_fft, hop, win, window, pad_mode=mode, **given)
                        close(got, want)
                        if win and win < (hop or n_fft // 4):
                            continue  # torch refuses these
                        given |= {"length": x.shape[-1] if center else None, "return_complex": dtype.is_complex}
                        try:
                            back = torch.istft(want, n_fft, hop, win, window, **given)
                        except RuntimeError:
                            continue  # windows that leave gaps, and no samples at all
                        close(fft.istft(want, n_fft, hop, win, window, **given), back, 1e-5)


def test_errors_are_of_the_kinds_that_torch_has(word):
    x, z = torch.randn(3, 4), torch.randn(3, 4, dtype=torch.complex64)
    wrong = [("fft", x, {"n": 0}), ("fft", x, {"n": -2}), ("ifft", x, {"norm": "bad"}), ("rfft", z, {}),
             ("rfft", z, {"dim": 5}), ("ihfft", z, {}), ("rfftn", z, {}), ("ihfft2", z, {}), ("fft", x, {"dim": 2}),
             ("fftn", x, {"dim": (0, -2)}), ("fftn", x, {"s": (2, 2, 2)}), ("fft2", x, {"s": (2,), "dim": (0, 1)}),
             ("fftn", x, {"dim": (0, 4)}), ("ifftn", x, {"s": (0, 2)}), ("irfftn", x, {"dim": ()}),
             ("irfft", x[:, :1], {}), ("fft", x[:, :0], {}), ("fft", torch.tensor(1.0), {}),
             ("fft2", x[0], {}), ("hfftn", x, {"norm": "ORTHO"})]
    for name, given, options in wrong:
        with pytest.raises((RuntimeError, IndexError)) as theirs:
            getattr(torch.fft, name)(given, **options)
        with pytest.raises(theirs.type):
            getattr(fft, name)(given, **options)
    signal, window = torch.randn(50), torch.hann_window(16)
    frames = torch.stft(signal, 16, window=window, return_complex=True)
    for name, given, options in (("stft", signal, {"hop_length": 0}), ("stft", signal, {"win_length": 17}),
                                 ("stft", signal[:7], {}), ("stft", signal, {"window": window[1:]}),
                                 ("stft", signal[:9], {"center": False}), ("istft", frames[1:], {}),
                                 ("istft", frames, {"hop_length": -1}), ("istft", frames, {"win_length": 20})):
        options = {"window": window, **options}
        with pytest.raises(RuntimeError):
            getattr(torch, name)(given, 16, **({"return_complex": True} if name == "stft" else {}), **options)
        with pytest.raises(RuntimeError):
            getattr(fft, name)(given, 16, **options)
