"""A training in two processes is the same training."""

import subprocess
import sys
from pathlib import Path

import pytest
from trainings import carry_out, losses, same_weights, small_training

from alice.training.folder import Training, read_metrics
from alice.training.state import TrainingState

IN_ORDER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from trainings import carry_out
from alice.training.folder import Training
for folder in sys.argv[2:]:
    assert carry_out(Training.open(Path(folder), {}), resume=True)
"""


def in_two_processes(*program: str) -> str:
    """Run a program in two processes that exchange gradients over gloo; return what it prints."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launch, *program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(corpus, tmp_path_factory) -> Path:
    """A folder with three trainings, carried out one after another by the same two processes."""
    place = tmp_path_factory.mktemp("two")
    # Muon's steps are computed by each process from the gradients of both; Gumbel noise is different in each.
    trainings = [
        small_training(place / "curve", corpus, steps=20, log_every=1, muon_lr=3e-3),
        small_training(place / "unbroken", corpus, variant="bijective", steps=60, eval_every=60, eval_texts=4),
        small_training(place / "broken", corpus, variant="bijective", steps=None, hours=0.05 / 3600, eval_texts=4),
    ]
    for training in trainings:
        training.describe()
    (place / "in_order.py").write_text(IN_ORDER)
    folders = [str(training.folder) for training in trainings]
    in_two_processes(str(place / "in_order.py"), str(Path(__file__).parents[1]), *folders)
    return place


def test_two_processes_follow_the_same_loss_curve_as_one(corpus, place, tmp_path):
    carry_out(small_training(tmp_path, corpus, steps=20, log_every=1, muon_lr=3e-3))
    state = TrainingState.read(place / "curve")
    assert {name.partition("/")[0] for name in state.group("rng")} == {"0", "1"}  # there really were two
    assert losses(place / "curve") == pytest.approx(losses(tmp_path), rel=1e-4)
    assert len(losses(place / "curve")) == 20


def test_two_processes_end_a_budget_in_hours_together_and_resume_bit_for_bit(place):
    stopped = TrainingState.read(place / "broken").counters
    assert stopped.seconds >= 0.05
    assert read_metrics(place / "broken")[-1]["step"] == stopped.step < 60
    arguments = ("--out", str(place / "broken"), "--resume", "--device", "cpu", "--threads", "1", "--steps", "60")
    printed = in_two_processes("-m", "alice.cli", "train", *arguments)
    assert printed.count("done:") == 1  # only one of the two processes prints
    assert Training.open(place / "broken", {}).totals().steps == 60
    assert same_weights(place / "unbroken", place / "broken")
