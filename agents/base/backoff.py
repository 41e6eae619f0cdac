"""Capped exponential back-off with a budget that time in good health pays back."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Delays between attempts: ``first_s``, doubling to ``cap_s``, with jitter, until ``budget`` attempts are used up.

    ``healthy(seconds)`` gives one attempt back per ``recover_s`` seconds of health, so routine idle closes never add up
    to a failure.

    Attributes:
        first_s: first delay in seconds.
        cap_s: longest delay in seconds.
        budget: attempts before ``exhausted``; None means for ever.
        recover_s: seconds of health that restore one attempt.
        jitter: fraction of the delay that is randomised downwards, 0 to 1.
    """

    first_s: float = 1.0
    cap_s: float = 15.0
    budget: int | None = None
    recover_s: float = 60.0
    jitter: float = 0.0
    rng: random.Random = field(default_factory=random.Random, repr=False)
    attempts: int = 0
    _healthy_s: float = field(default=0.0, init=False, repr=False)

    def next_delay(self) -> float:
        """The delay in seconds before the next attempt; counts the attempt."""
        delay = min(self.cap_s, self.first_s * 2 ** min(self.attempts, 30))
        self.attempts += 1
        return delay * (1 - self.jitter * self.rng.random())

    def healthy(self, seconds: float) -> None:
        """Report ``seconds`` more of health; short stretches add up until they restore an attempt."""
        self._healthy_s += seconds
        restored = min(self.attempts, int(self._healthy_s / self.recover_s))
        self.attempts -= restored
        self._healthy_s = self._healthy_s - restored * self.recover_s if self.attempts else 0.0

    def reset(self) -> None:
        """Forget all attempts."""
        self.attempts = 0
        self._healthy_s = 0.0

    @property
    def exhausted(self) -> bool:
        """Whether the budget is used up."""
        return self.budget is not None and self.attempts >= self.budget
