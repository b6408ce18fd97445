"""What works with `pip install calibrant` alone: arrays and dataframes. What is missing is named with its extra."""

import subprocess
import sys

import calibrant as cal


def refusal(call) -> str:
    """Return what a call says that cannot be made here."""
    try:
        call()
    except cal.CalibrantError as error:
        return str(error)
    return "nothing was refused"


audit = cal.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])
texts = str(audit), audit.details(), audit.to_json(), audit._repr_html_()
assert all(texts)
assert "calibrant[report]" in refusal(audit.plot)
assert "calibrant[files]" in refusal(lambda: cal.read_table("x.csv", outcome="y", prediction="p"))
command = subprocess.run([sys.executable, "-m", "calibrant"], capture_output=True, text=True, check=False)
assert command.returncode == 2, command
assert "pip install 'calibrant[cli]'" in command.stderr, command
