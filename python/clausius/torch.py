"""A lawful step as a function of PyTorch, with an exact derivative: it can sit inside a network.

    z1 = clausius.torch.step(model, z0, h=0.01, theta=theta)

`z0` is a tensor (..., variables) of float64, `theta` a tensor of the model's parameters (or None: the model's own, constant). Both may require
gradients. The derivative is that of the discrete step by the implicit function theorem, not through Newton's iterations.
"""
import torch as _torch


class _Step(_torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, theta, model, h, t, scheme):
        states = z.detach().to("cpu", _torch.float64).contiguous()
        parameters = None if theta is None else theta.detach().to("cpu", _torch.float64).contiguous()
        ctx.save_for_backward(states, *(() if parameters is None else (parameters,)))
        ctx.rest = model, h, t, scheme, z.dtype, z.device
        out = model._step(states.numpy(), h, t, None if parameters is None else parameters.numpy(), scheme, None)
        return _torch.from_numpy(out).to(z.device, z.dtype)

    @staticmethod
    @_torch.autograd.function.once_differentiable
    def backward(ctx, seeds):
        states, *parameters = ctx.saved_tensors
        model, h, t, scheme, dtype, device = ctx.rest
        z_bar, theta_bar = model._step(states.numpy(), h, t, parameters[0].numpy() if parameters else None, scheme,
                                       seeds.detach().to("cpu", _torch.float64).contiguous().numpy())
        theta_bar = _torch.from_numpy(theta_bar).to(device, dtype) if parameters else None
        return _torch.from_numpy(z_bar).to(device, dtype), theta_bar, None, None, None, None


def step(model, z, h=None, t=0.0, theta=None, scheme=None):
    """One step of h from each state; differentiable in `z` and `theta`."""
    return _Step.apply(z, theta, model, float(h or model.step_size), float(t), scheme)
