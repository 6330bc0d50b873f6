"""The training loop, in one process or several through accelerate: saves atomically and resumes bit for bit."""

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from alice.checkpoint.folder import check_fit
from alice.errors import AliceError, one_line
from alice.model import Alice, training_flops
from alice.solving import score
from alice.text import Batch, Batches, BatchStream
from alice.training import optimizer
from alice.training.folder import KEPT, STEPS, MetricsLog
from alice.training.loss import Objective
from alice.training.recipe import Recipe, rate_factor
from alice.training.state import STATE, Counters, TrainingState, restore_rng, rng_tensors

Row = dict[str, Any]


def _flat(row: Row) -> dict[str, float]:
    """Return a row as flat numbers for trackers, the error rates as `ser/<part>`."""
    numbers = {name: value for name, value in row.items() if name != "ser"}
    return numbers | {f"ser/{part}": rate for part, rate in row.get("ser", {}).items()}


class Trainer:
    """Trains one model in one training folder."""

    def __init__(
        self,
        model: Alice,
        recipe: Recipe,
        *,
        stream: BatchStream,
        validation: Batches,
        folder: Path,
        accelerator: Accelerator,
        report: Callable[[Row], None] = lambda row: None,
    ) -> None:
        self.recipe, self.folder, self.accelerator, self.report = recipe, folder, accelerator, report
        self.stream, self.validation = stream, validation
        self.model = model.to(accelerator.device).train()
        self.average = self._average() if recipe.ema else None
        self.names: dict[Tensor, str] = {weight: name for name, weight in model.named_parameters()}
        self.optimizer = optimizer.build(self.model, recipe)
        self.objective = accelerator.prepare(self._objective())
        self.counters = Counters()
        threads = torch.get_num_threads() if accelerator.device.type == "cpu" else 1
        self.cores = threads * accelerator.num_processes

    def resume(self) -> None:
        """Load the state in the training folder."""
        state = TrainingState.read(self.folder)
        check_fit(state.group("weights"), self.model.state_dict(), where=str(self.folder / STATE))
        try:
            self.model.load_state_dict(state.group("weights"))
            optimizer.load_state_tensors(self.optimizer, self.names, state.group("optimizer"))
            if self.average is not None:
                self.average.load_state_dict(state.group("ema"))
            self.counters = state.counters
            self._restore_rng(state)
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise AliceError(
                f"{self.folder / STATE} is damaged ({one_line(error):.200}); start a new training from the weights, "
                f"with --init {self.folder}"
            ) from error

    def fit(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Train until the budget is used up or `stop` returns true after a step; return whether it was used up."""
        log = MetricsLog(self.folder, resume_at=self.counters.step) if self.accelerator.is_main_process else None
        batches = self.stream.start(self.counters.step)
        if self._progress() < 1:
            batches = chain([next(batches)], batches)  # reading the corpus does not count as training time
        begun, saved = time.monotonic() - self.counters.seconds, self.counters.seconds
        stopped = False
        if log is None or self.counters.step not in log.kept:
            self._publish(self._keep(), log)
        while not (finished := self._progress() >= 1) and not stopped:
            row = self._step(next(batches))
            stopped = self._agree(time.monotonic() - begun, stop())
            self._publish([*self._rows(row), *self._keep()], log)
            if self.counters.seconds - saved >= 60 * self.recipe.save_minutes:
                self.save()
                saved = self.counters.seconds
        self.save()
        return finished

    def save(self) -> None:
        """Write the state to resume from, then the checkpoint."""
        rng = self._all_rng()  # every process must call this
        counters = replace(self.counters, loss_sum=self._over_processes(self.counters.loss_sum))
        if not self.accelerator.is_main_process:
            return
        groups = {
            "weights": self.model.state_dict(),
            "optimizer": optimizer.state_tensors(self.optimizer, self.names),
            "ema": self.average.state_dict() if self.average is not None else {},
            "rng": rng,
        }
        tensors = {f"{group}/{name}": tensor for group, named in groups.items() for name, tensor in named.items()}
        TrainingState(counters, tensors).write(self.folder)
        self.best().save_pretrained(self.folder)

    def _publish(self, rows: list[Row], log: MetricsLog | None) -> None:
        """Add rows to the log, if this process writes it, to the screen and to the trackers."""
        for line in rows:
            if log is not None:
                log.append(line)
                self.report(line)
            self.accelerator.log(_flat(line), step=line["step"])

    def _keep(self) -> list[Row]:
        """Write the weights to a folder of their own if the recipe keeps those of this step; return the row about it.

        That happens before the state of the step is saved, so a resumed training has every folder or writes it again.
        """
        if not self.accelerator.is_main_process or not self.recipe.keeps(self.counters.step):
            return []
        kept = self.best()
        kept.save_pretrained(self.folder / STEPS / str(self.counters.step))
        norm = math.sqrt(math.fsum(float(weight.double().square().sum()) for weight in kept.state_dict().values()))
        return [{**self._position(), KEPT: norm}]

    def best(self) -> Alice:
        """Return the model to keep: the moving average of the weights if there is one."""
        return self.model if self.average is None else cast(Alice, self.average.module)

    def _objective(self) -> nn.Module:
        """Return what computes the summed loss of each text from ciphertexts and plaintexts."""
        return Objective(self.model, self.recipe.bijective_loss)

    def _flops(self, lengths: Tensor) -> float:
        """Return the operations of a step on texts of these lengths, (batch,)."""
        return training_flops(self.model.config, int(lengths.sum()), int(lengths.square().sum()))

    def _average(self) -> AveragedModel:
        return AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(self.recipe.ema))

    def _progress(self) -> float:
        return self.recipe.progress(self.counters.step, self.counters.seconds)

    def _step(self, batch: Batch) -> Row:
        """Train on one batch, each process on its share; return learning rate and gradient norm."""
        factor = rate_factor(
            self.recipe.schedule,
            step=self.counters.step,
            progress=self._progress(),
            warmup_steps=self.recipe.warmup_steps,
            decay_share=self.recipe.decay_share,
        )
        optimizer.set_rate(self.optimizer, factor)
        tokens = int(batch.mask.sum())
        loss_sum = self._backward(batch, tokens)
        norm = self._clip()
        self._check_finite("gradient", norm)  # before it reaches the weights
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.average is not None:
            self.average.update_parameters(self.model)
        self.counters.step += 1
        self.counters.tokens += tokens
        self.counters.flops += self._flops(batch.mask.sum(1))
        self.counters.loss_sum += loss_sum
        self.counters.loss_tokens += tokens
        return {"lr": self.recipe.lr * factor, "gradient_norm": norm}

    def _backward(self, batch: Batch, tokens: int) -> float:
        """Accumulate the gradient of the batch's weighted loss; return the summed loss of this process's share."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        share, counts = batch.share(rank, world), 1.0
        if len(share) == 0:  # fewer texts than processes: contribute zero to the exchange
            share, counts = batch.share(0, len(batch)), 0.0
        share = share.to(self.accelerator.device)
        with self.accelerator.autocast():
            losses = counts * self.objective(share.cipher_ids, share.plain_ids)
        value = float(losses.detach().sum())
        self._check_finite("loss", value)
        loss = losses.sum() / tokens if share.weights is None else (losses * share.weights).sum()
        self.accelerator.backward(loss * world)  # gradients are averaged over processes
        return value

    def _check_finite(self, what: str, value: float) -> None:
        if not math.isfinite(value):
            raise self._failed(f"the {what} became {value} at step {self.counters.step + 1}")

    def _failed(self, what: str) -> AliceError:
        return AliceError(
            f"{what}; the last checkpoint in {self.folder} is intact: resume from it, "
            "or start a new training with a lower learning rate"
        )

    def _clip(self) -> float:
        limit = self.recipe.clip or math.inf
        return float(self.accelerator.clip_grad_norm_(self.model.parameters(), limit))

    def _rows(self, row: Row) -> list[Row]:
        """Return the rows that this step adds to the log."""
        step, recipe = self.counters.step, self.recipe
        last = self._progress() >= 1
        rows = []
        if step % recipe.log_every == 0 or last:
            rows.append({**self._position(), "loss": self._mean_loss(), **row})
        if step % recipe.eval_every == 0 or last:
            rows += self._validate()
        return rows

    def _mean_loss(self) -> float:
        """Return the loss per character since the last row, over all processes."""
        c = self.counters
        mean = self._over_processes(c.loss_sum) / c.loss_tokens
        c.loss_sum, c.loss_tokens = 0.0, 0
        return mean

    def _position(self) -> Row:
        c = self.counters
        return {"step": c.step, "tokens": c.tokens, "flops": c.flops, "seconds": round(c.seconds, 3)}

    def _validate(self) -> list[Row]:
        """Measure on held-out texts, in the first process only."""
        if not self.accelerator.is_main_process:
            return []
        model = self.best().eval()
        try:
            rates = score(model, self.validation).means()
        except AliceError as error:
            raise self._failed(f"the measurement on held-out texts failed ({error})") from error
        self.model.train()
        return [{**self._position(), "ser": rates}]

    def _agree(self, seconds: float, stop: bool) -> bool:
        """Set the clock of every process to the first one's; return whether any process was asked to stop.

        Budget, learning rate and end of the loop depend on the clock and must be the same in all processes.
        """
        if self.accelerator.num_processes > 1:
            seconds = self._over_processes(seconds if self.accelerator.is_main_process else 0.0)
            stop = self._over_processes(float(stop)) > 0
        self.counters.core_seconds += self.cores * (seconds - self.counters.seconds)
        self.counters.seconds = seconds
        return stop

    def _over_processes(self, value: float) -> float:
        """Return the sum of a number over all processes."""
        if self.accelerator.num_processes == 1:
            return value
        tensor = torch.tensor(value, dtype=torch.float64, device=self.accelerator.device)
        return float(self.accelerator.reduce(tensor, reduction="sum"))

    def _all_rng(self) -> dict[str, Tensor]:
        """Return the RNG state of every process as `<process>/<device>`."""
        own = rng_tensors(self.accelerator.device)
        if self.accelerator.num_processes == 1:
            return {f"0/{name}": state for name, state in own.items()}
        gathered = {
            name: self.accelerator.gather(state[None].to(self.accelerator.device)) for name, state in own.items()
        }
        return {f"{rank}/{name}": state for name, states in gathered.items() for rank, state in enumerate(states)}

    def _restore_rng(self, state: TrainingState) -> None:
        rank, device = self.accelerator.process_index, self.accelerator.device
        if not self.accelerator.is_main_process:
            self.counters.loss_sum = 0.0  # the first process holds the sum over all
        own = state.group(f"rng/{rank}")
        known = {name.partition("/")[0] for name in state.group("rng")}
        if len(known) == self.accelerator.num_processes:
            restore_rng({name: value.cpu() for name, value in own.items()}, device)
        else:  # the number of processes changed, so there is no state to restore; give each process its own seed
            torch.manual_seed(hash((self.recipe.seed, rank, self.counters.step)))
