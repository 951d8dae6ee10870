"""scikit-learn's manners, with the list of what cannot be and why."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import same, small

import nkn

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

SHAPE = "y is a function at the nodes of X: a number, a class or other columns per sample are no such function"
GRID = "every number of columns is a grid of another resolution: other X than in training are the point"
EXPECTED_FAILURES = {
    "check_complex_data": SHAPE,
    "check_dict_unchanged": SHAPE,
    "check_dont_overwrite_parameters": SHAPE,
    "check_dtype_object": SHAPE,
    "check_estimators_dtypes": SHAPE,
    "check_estimators_fit_returns_self": SHAPE,
    "check_estimators_nan_inf": SHAPE,
    "check_estimators_overwrite_params": SHAPE,
    "check_estimators_pickle": SHAPE,
    "check_f_contiguous_array_estimator": SHAPE,
    "check_fit2d_1sample": SHAPE,
    "check_fit2d_predict1d": SHAPE,
    "check_fit_check_is_fitted": SHAPE,
    "check_fit_idempotent": SHAPE,
    "check_fit_score_takes_y": SHAPE,
    "check_methods_sample_order_invariance": SHAPE,
    "check_methods_subset_invariance": SHAPE,
    "check_n_features_in": GRID,
    "check_n_features_in_after_fitting": GRID,
    "check_pipeline_consistency": SHAPE,
    "check_positive_only_tag_during_fit": SHAPE,
    "check_readonly_memmap_input": SHAPE,
    "check_regressor_data_not_an_array": SHAPE,
    "check_regressor_multioutput": SHAPE,
    "check_regressors_int": SHAPE,
    "check_regressors_no_decision_function": SHAPE,
    "check_regressors_train": SHAPE,
    "check_requires_y_none": "y=None is answered in our words, which say what to do",
    "check_supervised_y_2d": SHAPE,
    "check_estimators_empty_data_messages": SHAPE,
    "check_estimator_sparse_array": SHAPE,
    "check_estimator_sparse_matrix": SHAPE,
    "check_estimator_sparse_container": SHAPE,
    "check_estimator_sparse_tag": SHAPE,
}


@parametrize_with_checks([small()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_estimator_checks(estimator, check) -> None:
    check(estimator)


def test_clone_and_pickle(model: nkn.NKN, poisson: nkn.Samples) -> None:
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "model_")
    again = pickle.loads(pickle.dumps(model))
    assert same(again.predict(poisson["f"]), model.predict(poisson["f"])) and again.history_ == model.history_
    assert clone(nkn.auto(minutes=2)).minutes == 2


def test_pipeline_and_cross_validation(poisson: nkn.Samples) -> None:
    pipeline = make_pipeline(StandardScaler(), small()).fit(poisson["f"], poisson["u"])
    assert pipeline.predict(poisson["f"]).shape == (16, 17)
    assert len(cross_val_score(small(), poisson["f"], poisson["u"], cv=4)) == 4
    search = GridSearchCV(small(), {"width": [1, 2]}, cv=2).fit(poisson)      # Samples are chosen from too
    assert search.best_params_["width"] in (1, 2)


def test_unfitted() -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    with pytest.raises(NotFittedError, match="call fit first"):
        small().predict(np.ones((1, 9)))
    with pytest.raises(NotFittedError):
        check_is_fitted(small())


SEARCH = """
import multiprocessing, sys
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV
import nkn

if __name__ == "__main__":
    train = nkn.problems.poisson(12, 17)
    network = nkn.NKN(kernel=[8], epochs=5, verbose=0)
    network.fit(train)                                      # the parent has its threads before it forks
    settings = {"width": [1, 2], "learning_rate": [1e-3, 1e-2]}
    multiprocessing.set_start_method(sys.argv[1])
    with parallel_config(backend=sys.argv[2]):
        found = GridSearchCV(network, settings, cv=2, n_jobs=2).fit(train["f"], train["u"])
    alone = GridSearchCV(network, settings, cv=2).fit(train["f"], train["u"])
    assert (found.cv_results_["mean_test_score"] == alone.cv_results_["mean_test_score"]).all()
    print(len(found.cv_results_["params"]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize(
    ("method", "backend"), [("fork", "multiprocessing"), ("spawn", "multiprocessing"), ("spawn", "loky")]
)
def test_searches_in_two_processes(method: str, backend: str, tmp_path: Path) -> None:
    script = tmp_path / "search.py"
    script.write_text(SEARCH)
    done = subprocess.run([sys.executable, str(script), method, backend], capture_output=True, text=True, timeout=240)
    assert done.stdout == "4\n", done.stderr
