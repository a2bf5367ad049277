"""A file of ONNX as a network: tokens in, a vector for each, or one for all, out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from squidbot.core.errors import LLMError, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Network"]

# Its exceptions have no root of their own.
FAILURES = (
    failures.EngineError, failures.EPFail, failures.Fail, failures.InvalidArgument, failures.InvalidGraph,
    failures.InvalidProtobuf, failures.ModelLoaded, failures.NoModel, failures.NoSuchFile, failures.NotImplemented,
    failures.RuntimeException,
)  # fmt: skip
# What exports of sentence models take, beside the tokens.
KNOWN = ("input_ids", "attention_mask", "token_type_ids")
ERRORS_ONLY = 3


class Network:
    """A network that threads share, on the CPU."""

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            ModelFileError: it can't be read, or takes or gives something else than is run here.
        """
        options = onnxruntime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except FAILURES as error:
            raise ModelFileError(f"onnxruntime can't read it: {_said(error)} @ {path}") from error
        self._path = path
        self._inputs = [each.name for each in self._session.get_inputs()]
        unknown = [name for name in self._inputs if name not in KNOWN]
        if unknown or "input_ids" not in self._inputs:
            raise ModelFileError(f"its inputs are {self._inputs}, and {[*KNOWN]} are known here @ {path}")
        shapes = {each.name: len(each.shape) for each in self._session.get_outputs()}
        # Vectors of the tokens go first: how they become one is said beside the file.
        self._output = next((name for rank in (3, 2) for name in shapes if shapes[name] == rank), "")
        if not self._output:
            raise ModelFileError(f"no output of it is vectors: {[*shapes]} @ {path}")
        self.pools = shapes[self._output] == 2
        self.width = int(self.states([0, 0]).shape[1])

    def states(self, ids: Sequence[int]) -> np.ndarray:
        """Return the vector of each token of a text, a row each; of a network that pools itself one row.

        Raises:
            LLMError: the network failed on it.
        """
        tokens = np.array([ids], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        try:
            (made,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except FAILURES as error:
            raise LLMError("unusable", f"onnxruntime failed: {_said(error)} @ {self._path}") from error
        states: np.ndarray = made if self.pools else made[0]
        return states


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
