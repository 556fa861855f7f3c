"""Rates, Jacobians, energies, steps and their derivatives, the gradient of a simulation: each against what it must equal."""
import copy
import pickle

import numpy as np
import pytest

import clausius as cl


def slopes(function, x, eps=1e-6):
    """Central differences of a scalar function."""
    return np.array([(function(x + eps * e) - function(x - eps * e)) / (2 * eps) for e in np.eye(len(x))])


TWO_COUPLED = """coordinate a
coordinate b
lagrangian L = v.a^2 + v.a*v.b/2 + v.b^2 + (v.a^2 + v.b^2)^2/8 + cos(a) + cos(a - b)
start a = 1, b = 0.3, v.a = 0.2, v.b = -0.4
"""
THREE_COUPLED = """coordinate a
coordinate b
coordinate c
lagrangian L = v.a^2 + v.a*v.b/2 + v.b^2 + v.b*v.c*cos(a) + 2*v.c^2 + (v.a^2 + v.b^2 + v.c^2)^2/8 + cos(a - b) + cos(b - c)
start a = 1, b = 0.3, c = -0.5, v.a = 0.2, v.b = -0.4, v.c = 0.1
"""


@pytest.mark.parametrize("text", [n for n in cl.systems() if len(cl.system(n).variables) <= 64 and cl.system(n).scheme != "langevin"] + [TWO_COUPLED, THREE_COUPLED], ids=lambda text: text if "\n" not in text else f"{text.count(chr(10)) - 2}-coupled")
def test_rates_are_the_limit_of_steps(text):
    """Of every built-in system; rates are formulas, or a mass matrix is factored (rigid-body, three coupled velocities)."""
    system = cl.system(text)
    n = len(system.variables)
    z = system.simulate(steps=3, h=0.01).states[-1]  # no zeros
    f = system.rates(z)
    assert f.shape == (n,)
    J = system.jacobian(z)
    h = 1e-5 / max(1, abs(J).max() / 10)  # of stiff systems
    path = system.simulate(start=z, steps=2, h=h, scheme="bdf").states[:, :n]
    assert np.allclose((-1.5 * path[0] + 2 * path[1] - 0.5 * path[2]) / h, f, rtol=1e-6, atol=1e-6 * (1 + abs(f).max()))
    ways = np.eye(len(z))[:n]
    differences = np.stack([(system.rates(z + 1e-6 * e) - system.rates(z - 1e-6 * e)) / 2e-6 for e in ways], 1)
    assert np.allclose(J, differences, rtol=1e-5, atol=1e-7 * (1 + abs(J).max()))
    many = np.tile(z, (1100, 1)) * np.linspace(0.99, 1.01, 1100)[:, None]
    assert np.array_equal(system.rates(many)[77], system.rates(many[77]), equal_nan=True)  # blocks and threads do not show
    assert np.array_equal(system.jacobian(many)[1033], system.jacobian(many[1033]), equal_nan=True)


def test_rates_of_networks(piston, truth):
    model = cl.learn(piston, truth, unknown="F1", field="network(6,6)", epochs=3)
    states = model.simulate(steps=80, h=0.02).states
    f = model.rates(states)
    assert np.isfinite(f).all()
    ahead = model.step(states, h=1e-6)
    assert np.allclose((ahead - states) / 1e-6, f, rtol=1e-4, atol=1e-5)
    J, k = model.jacobian(states), 40
    for row in range(4):
        assert np.allclose(J[k, row], slopes(lambda x: model.rates(x)[row], states[k]), rtol=1e-5, atol=1e-6)
    assert np.isfinite(model.energy(states)).all() and np.isfinite(model.entropy(states)).all()


def test_many_states_have_the_bits_of_one(piston):
    run = piston.simulate(steps=999)
    states = run.states
    assert (piston.energy(states) == run.energy).all() and (piston.entropy(states) == run.entropy).all()
    assert piston.energy(states[7]) == run.energy[7] and isinstance(piston.energy(states[7]), float)
    f = piston.rates(states)
    assert (f[123] == piston.rates(states[123])).all()
    assert (piston.rates(states.reshape(10, 100, 4)) == f.reshape(10, 100, 4)).all()
    assert piston.jacobian(states[:5]).shape == (5, 4, 4)
    with pytest.raises(cl.UsageError, match="4 numbers"):
        piston.rates(np.zeros(3))
    with pytest.raises(cl.UsageError, match="complex"):
        piston.rates(states[:2].astype(complex))
    assert piston.rates(states[:0]).shape == (0, 4)


def test_plain_equations():
    """They have rates, and neither energy nor entropy."""
    circle = cl.system("parameter w = 2\node x' = w*y\node y' = -w*x\nstart x = 1, y = 0\n")
    assert circle.rates(np.array([1.0, 0.5])).tolist() == [1.0, -2.0]
    assert circle.jacobian(np.array([1.0, 0.5])).tolist() == [[0.0, 2.0], [-2.0, 0.0]]
    with pytest.raises(cl.UsageError, match="neither energy nor entropy"):
        circle.energy(np.array([1.0, 0.5]))
    assert "energy" not in circle.simulate(steps=3)


def test_inputs_matter():
    text = "coordinate q\ninput u\nlagrangian v.q^2/2 - q^2/2\nexternal force drive: q <- u\nstart q = 1, v.q = 0\n"
    with pytest.raises(cl.UsageError, match="input 'u'"):
        cl.system(text).rates(np.array([1.0, 0.0]))
    assert cl.system(text, set={"u": "2*t"}).rates(np.array([1.0, 0.0]), 1.5).tolist() == [0.0, 2.0]


def test_time_matters():
    system = cl.system("van-der-waals-forced")
    z = system.start()
    many = system.rates(np.tile(z, (3, 1)), np.array([0.0, 0.5, 1.0]))
    assert (many[1] == system.rates(z, 0.5)).all()


@pytest.mark.parametrize("scheme", ["discrete-gradient", "discrete-gradient-4", "implicit-midpoint", "rk4"])
def test_a_step_is_that_of_simulate(piston, scheme):
    states = piston.simulate(steps=40, h=0.1).states
    want = piston.simulate(starts=states, steps=1, h=0.05, scheme=scheme)
    got = piston.step(states, h=0.05, scheme=scheme)
    assert np.allclose(got, np.stack([want[n][:, 1] for n in piston.states], 1), rtol=1e-12, atol=1e-12)
    seeds = np.cos(np.arange(states.size)).reshape(states.shape)
    bar, _ = piston.step_vjp(states, seeds, h=0.05, scheme=scheme)
    for k in (0, 17, 40):
        want = slopes(lambda z: seeds[k] @ piston.step(z, h=0.05, scheme=scheme), states[k])
        assert np.allclose(bar[k], want, rtol=1e-6, atol=1e-8)


def test_a_step_in_parameters(model):
    states = model.simulate(steps=20).states
    seeds = np.sin(np.arange(states.size)).reshape(states.shape)
    theta = model.theta
    bar, theta_bar = model.step_vjp(states, seeds, h=0.05)
    rng = np.random.default_rng(1)
    direction = rng.normal(size=len(theta)) * 1e-3

    def value(s):
        return (seeds * model.step(states, h=0.05, theta=theta + s * direction)).sum()

    assert np.isclose(theta_bar @ direction, (value(1e-3) - value(-1e-3)) / 2e-3, rtol=1e-5)
    assert (model.step(states, h=0.05, theta=theta) == model.step(states, h=0.05)).all()
    with pytest.raises(cl.UsageError, match="parameters"):
        model.step(states, h=0.05, theta=theta[:-1])


def test_shooting(model, truth):
    loss, grad = shot = model.shoot(truth)
    assert loss == shot.loss and grad is shot.grad and pickle.loads(pickle.dumps(shot)).loss == loss
    # equal to the error of a simulation along the data
    runs = model.simulate(starts=[{n: float(truth[n][i, 0]) for n in model.variables} for i in range(len(truth))], steps=40, h=0.02)
    errors = [((runs[n] - truth[n]) / truth[n].std()) ** 2 for n in model.variables]
    assert np.isclose(shot.loss, np.mean(errors), rtol=1e-6)
    wrong = model.theta * 1.2
    shot = model.shoot(truth, theta=wrong)
    direction = np.cos(np.arange(len(wrong))) * np.abs(wrong).mean()
    numeric = (model.shoot(truth, theta=wrong + 1e-5 * direction).loss - model.shoot(truth, theta=wrong - 1e-5 * direction).loss) / 2e-5
    assert np.isclose(shot.grad @ direction, numeric, rtol=1e-5)
    move = np.zeros_like(shot.starts)
    move[3, 1] = 1e-5
    numeric = (model.shoot(truth, theta=wrong, starts=shot.starts + move).loss - model.shoot(truth, theta=wrong, starts=shot.starts - move).loss) / 2e-5
    assert np.isclose(shot.grad_starts[3, 1], numeric, rtol=1e-5)


def test_shooting_with_gaps(model, truth):
    """Trajectories of unequal length, numbers that are missing."""
    parts = [{n: truth[n][i, : 10 + i] for n in ("time", *model.variables)} for i in range(3)]
    whole = [model.shoot(p, scale=np.ones(4)).loss * (10 + i) for i, p in enumerate(parts)]
    assert np.isclose(model.shoot(cl.data(parts), scale=np.ones(4)).loss, sum(whole) / 33, rtol=1e-12)
    holes = dict(parts[0], T1=np.where(np.arange(10) % 3 == 1, np.nan, parts[0]["T1"]))
    assert model.shoot(holes).loss >= 0
    with pytest.raises(cl.UsageError, match="starts="):
        model.shoot({"time": parts[0]["time"], "x": parts[0]["x"]})


def test_learner(piston, truth):
    learner = cl.Learner(piston, unknown="F1, F2", seed=7)
    with pytest.raises(cl.UsageError, match="fit first"):
        learner.predict(np.zeros(4))
    twin = copy.copy(learner)
    learner.fit(truth)
    assert (learner.model_.theta == cl.learn(piston, truth, unknown="F1, F2", seed=7).theta).all()
    assert learner.score(truth) > 0.9999 and not hasattr(twin, "model_")
    states = np.stack([truth[n][:, 20] for n in piston.states], 1)
    assert np.allclose(learner.predict(states), piston.rates(states), rtol=1e-3, atol=1e-4)
    assert learner.get_params()["seed"] == 7 and learner.set_params(seed=8).seed == 8
    with pytest.raises(ValueError, match="no option"):
        learner.set_params(sed=8)
    assert pickle.loads(pickle.dumps(learner)).score(truth) == learner.score(truth)
    assert "F1" in repr(learner)


def test_clone(piston):
    base = pytest.importorskip("sklearn.base")
    learner = cl.Learner(piston, unknown="F1", field="chebyshev(3)")
    assert base.clone(learner).get_params()["field"] == "chebyshev(3)"


def test_torch(model):
    torch = pytest.importorskip("torch", exc_type=ImportError)
    import clausius.torch

    z = torch.tensor(model.simulate(steps=3).states, requires_grad=True)
    theta = torch.tensor(model.theta[:], requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: clausius.torch.step(model, x, h=0.05), (z,), eps=1e-6, atol=1e-6)
    out = clausius.torch.step(model, clausius.torch.step(model, z, h=0.05, theta=theta), h=0.05, theta=theta)
    out.square().sum().backward()
    direction = torch.cos(torch.arange(len(theta), dtype=torch.float64)) * 1e-4

    def value(s):
        p = (theta + s * direction).detach().numpy()
        return (model.step(model.step(z.detach().numpy(), h=0.05, theta=p), h=0.05, theta=p) ** 2).sum()

    assert np.isclose(float(theta.grad @ direction), (value(1e-2) - value(-1e-2)) / 2e-2, rtol=1e-5)


def test_jax(model):
    jax = pytest.importorskip("jax", exc_type=ImportError)
    jax.config.update("jax_enable_x64", True)
    import clausius.jax

    z = jax.numpy.asarray(model.simulate(steps=3).states)

    def loss(x):
        return (clausius.jax.step(model, x, h=0.05) ** 2).sum()

    got = jax.jit(jax.grad(loss))(z)
    states = np.asarray(z)
    want, _ = model.step_vjp(states, 2 * model.step(states, h=0.05), h=0.05)
    assert np.allclose(got, want, rtol=1e-12)
    each = jax.vmap(lambda x: clausius.jax.step(model, x, h=0.05))(z)
    assert np.allclose(each, model.step(states, h=0.05), rtol=1e-14)
