"""A lawful step as a function of JAX, with an exact derivative (vjp): it can be jitted, vmapped and sit inside a network.

    z1 = clausius.jax.step(model, z0, h=0.01, theta=theta)

`z0` is an array (..., variables), `theta` the model's parameters (or None: its own, constant). The step is made by the library through a
callback, in float64 (enable it with jax.config.update("jax_enable_x64", True); float32 is converted). The derivative is that of the discrete
step by the implicit function theorem.
"""
from functools import partial as _partial

import numpy as _np

import jax as _jax
import jax.numpy as _jnp


def _numbers(x):
    return _np.ascontiguousarray(_np.asarray(x), _np.float64)


@_partial(_jax.custom_vjp, nondiff_argnums=(0, 3, 4, 5))
def _step(model, z, theta, h, t, scheme):
    def call(states, parameters):
        return model._step(_numbers(states), h, t, _numbers(parameters), scheme, None).astype(z.dtype)

    return _jax.pure_callback(call, _jax.ShapeDtypeStruct(z.shape, z.dtype), z, theta, vmap_method="sequential")


def _forth(model, z, theta, h, t, scheme):
    return _step(model, z, theta, h, t, scheme), (z, theta)


def _back(model, h, t, scheme, kept, seeds):
    z, theta = kept

    def call(states, parameters, a):
        z_bar, theta_bar = model._step(_numbers(states), h, t, _numbers(parameters), scheme, _numbers(a))
        return z_bar.astype(z.dtype), theta_bar.astype(theta.dtype)

    shapes = _jax.ShapeDtypeStruct(z.shape, z.dtype), _jax.ShapeDtypeStruct(theta.shape, theta.dtype)
    return _jax.pure_callback(call, shapes, z, theta, seeds, vmap_method="sequential")


_step.defvjp(_forth, _back)


def step(model, z, h=None, t=0.0, theta=None, scheme=None):
    """One step of h from each state; differentiable in `z` and `theta`."""
    z = _jnp.asarray(z)
    own = model._theta() if model.is_model else _np.zeros(0)
    theta = _jnp.asarray(own, z.dtype) if theta is None else _jnp.asarray(theta)
    return _step(model, z, theta, float(h or model.step_size), float(t), scheme)
