"""What the folder of a sentence model says, whoever runs the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.embeddings import check_modules, cut, object_in, pooling_of
from squidbot.core.errors import ModelFileError
from squidbot.core.tokens.wordpiece import WordPiece

if TYPE_CHECKING:
    from pathlib import Path


def test_folder_that_says_nothing_means_the_mean_and_no_further_parts(tmp_path: Path) -> None:
    """As exporters leave it; what has to be there is missed."""
    check_modules(tmp_path)
    assert pooling_of(tmp_path) == "mean"
    assert object_in(tmp_path / "config.json", {}) == {}
    with pytest.raises(ModelFileError, match=r"not there @ .*config\.json"):
        object_in(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('[{"type": "models.Transformer"}, {"type": "models.Dense"}]', "its part 'Dense' is not run here"),
        ('[{"type": 5}]', "its part '5' is not run here"),
        ("[5]", "its part '' is not run here"),
        ("{}", "expected a list"),
        ("[", "can't be read"),
    ],
)
def test_part_that_is_not_run_here_is_named(tmp_path: Path, said: str, why: str) -> None:
    """With the file that says so."""
    (tmp_path / "modules.json").write_text(said)
    with pytest.raises(ModelFileError, match=f"^{why}.* @ .*modules\\.json"):
        check_modules(tmp_path)
    (tmp_path / "modules.json").write_text('[{"type": "models.Transformer"}, {"type": "models.Normalize"}]')
    check_modules(tmp_path)


def test_text_is_cut_into_pieces_with_the_models_own_tokens_around_each() -> None:
    """An empty one is one piece."""
    pieces = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "sea", "squid"])
    assert cut("squid sea squid", pieces, 2) == [[2, 5, 4, 3], [2, 5, 3]]
    assert cut("", pieces, 2) == [[2, 3]]
