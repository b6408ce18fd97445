"""
A calibrated classifier in a pipeline
=====================================

``CalibratedClassifier`` fits a classifier and a calibrator together, so that no row
calibrates what it trained.
"""

# %%
# Naive Bayes behind a scaler. The wrapper predicts each training row by a classifier that has
# not seen it, and fits the calibrator to these predictions.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import calibrant as cal
from calibrant.plots import ComparisonDisplay

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, digit >= 5, test_size=0.5, random_state=0
)
plain = make_pipeline(MinMaxScaler(), GaussianNB(var_smoothing=1e-2))
models = {
    "naive Bayes": plain,
    "calibrated": cal.CalibratedClassifier(plain, cal.IsotonicCalibrator()),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# Both on rows that neither has seen. The calibrated classifier follows the diagonal; its
# calibration error is in the legend.
display = ComparisonDisplay.from_estimator(
    models, X_test, y_test, name="Naive Bayes on digits"
)

# %%
# It works wherever scikit-learn takes a classifier. ``scorers`` holds calibration errors as
# scorers; choose models by a proper score and report the calibration error beside it.
scoring = {"log loss": "neg_log_loss", "cutoff": cal.scorers["neg_cutoff_calibration_error"]}
for name, model in models.items():
    found = cross_validate(model, X, digit >= 5, cv=3, scoring=scoring)
    print(
        f"{name:12} log loss {-found['test_log loss'].mean():.3f}, "
        f"calibration error {-found['test_cutoff'].mean():.3f}"
    )
plt.show()
