"""Learning in scikit-learn's manner: a learner has parameters and is fitted. Trajectories are not rows, so it is no sklearn estimator
in all respects; get_params, set_params, clone, pickle and pipelines of parameters (GridSearchCV over lists of trajectories) work."""
import numpy as np

from ._data import Data, data as as_data
from ._model import Model, learn
from ._errors import UsageError
from ._dynamics import system as as_system
from ._options import default, no_option, rows

NAMES = ("system", "unknown") + tuple(row[0] for row in rows("learn", "identify"))
DEFAULTS = {row[0]: default(row) for row in rows("learn", "identify")}


class Learner:
    """Learns parts of a system; `fit` makes `model_`.

    >>> import clausius as cl
    >>> piston = cl.system("adiabatic-piston")
    >>> truth = piston.simulate(starts=[{"v.x": v, "T1": 1 + v / 4} for v in (-1, -0.5, 0.5, 1)], until=2, h=0.02, scheme="bdf")
    >>> learner = cl.Learner(piston, unknown="F1", field="chebyshev(2)", validate=0).fit(truth)
    >>> learner.score(truth) > 0.999
    True
    """

    def __init__(self, system=None, unknown=None, **options):
        self.system, self.unknown = system, unknown
        for name in options:
            if name not in DEFAULTS:
                raise TypeError(no_option(name, NAMES))
        for name, value in {**DEFAULTS, **options}.items():
            setattr(self, name, value)

    @classmethod
    def _get_param_names(cls):
        return sorted(NAMES)

    def get_params(self, deep=True):
        """All parameters by name."""
        return {name: getattr(self, name) for name in NAMES}

    def set_params(self, **params):
        """Sets some of them; returns the learner."""
        for name, value in params.items():
            if name not in NAMES:
                raise ValueError(no_option(name, NAMES))
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self):
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    def __sklearn_tags__(self):
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags(two_d_array=False, allow_nan=True))

    def _data(self, X, t, names):
        """What is learned from or scored: bare arrays (rows, columns) have the variables of the system for columns."""
        if isinstance(X, Data):
            return X
        first = X[0] if isinstance(X, (list, tuple)) and len(X) else X
        if names is None and isinstance(first, np.ndarray) and first.ndim == 2 and not first.dtype.names:
            names = (self.system if hasattr(self.system, "variables") else as_system(self.system)).variables
        return as_data(X, t=t, names=names)

    def fit(self, X, y=None, *, t=None, names=None, progress=None):
        """Learns from what `clausius.data` takes; `y` is not looked at.

        Of arrays (rows, columns) the columns are the variables of the system unless `names` says otherwise; `t` are the times, or their spacing, as in PySINDy.
        """
        if self.system is None:
            raise UsageError("of which system? Learner(system, unknown=[...])")
        if t is None and np.isscalar(y):
            raise UsageError(f"times, or their spacing, are t=: fit(X, t={y})")
        data = self._data(X, t, names)
        options = {k: getattr(self, k) for k in DEFAULTS if getattr(self, k) != DEFAULTS[k]}
        self.model_ = learn(self.system, data, self.unknown, progress=progress, **options)
        self.info_ = self.model_.info
        self.n_features_in_ = len(data.columns)
        self.feature_names_in_ = np.asarray(data.columns, object)
        return self

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise UsageError("the learner is not fitted: call fit first")
        return self.model_

    def predict(self, states, t=0.0):
        """The rates of the motion at states (..., variables), as PySINDy's predict."""
        return self._fitted().rates(np.ascontiguousarray(states, float), t)

    def simulate(self, *args, **options):
        """`Model.simulate`."""
        return self._fitted().simulate(*args, **options)

    def score(self, X, y=None, *, t=None, names=None):
        """1 - (mean square error of simulations along the data) / (variance of the data): 1 is perfect."""
        return self._fitted().score(self._data(X, t, names))

    def print(self):
        """Prints what was learned."""
        print(self._fitted())

    def equations(self):
        """The learned equations of motion as text."""
        return self._fitted().equations

    def __repr__(self):
        system = self.system if isinstance(self.system, str) else getattr(self.system, "name", None)
        changed = "".join(f", {k}={getattr(self, k)!r}" for k in DEFAULTS if getattr(self, k) != DEFAULTS[k])
        return f"Learner({system!r}, unknown={self.unknown!r}{changed})"
