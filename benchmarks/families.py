"""Texts on which a bound on tokens is easily too low: a generator for each kind, the same texts for the same seed.

Real text is mostly known words; what is dear in it comes in few places. So most kinds are short, and some stand between
words that every vocabulary knows: a bound that lets cheap words pay for dear ones fails there.
"""

# ruff: noqa: RUF001  # letters of other alphabets are what is meant

from __future__ import annotations

import base64
import json
import random
import string
import unicodedata
import uuid
from functools import cache
from typing import TYPE_CHECKING

from squidbot.core.tokens.class_words import COSTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["FAMILIES", "texts", "worst_words"]

LOWER, UPPER, LETTERS = string.ascii_lowercase, string.ascii_uppercase, string.ascii_letters
LINES = (
    "The pod {} in the namespace default has been started by the user {} and is now running.",
    "INFO: request {} was sent to the server {} and the answer is not here yet",
    "please check if the file {} is in the folder {} and then open it",
    "We met {} and her brother {} at the market, where they sell fruit and bread.",
)
_KNOWN = """
the of and to in is that it for was on with as be at by have from this which not are or an but we all will one when
there their so out up time what about who get if would make more do some has her him two like other new file name data
user value error list string return function class import type test code server message
"""
KNOWN = _KNOWN.split()
# Everyday words of languages in Latin letters, some without their accents, as people type them.
SPOKEN = {
    "indonesian": "mempertanggungjawabkan keberlangsungan pengembangan menyelenggarakan bagaimana seperti kebudayaan "
    "perpustakaan menggunakan sekarang terjemahan pemerintahan kesehatan berkelanjutan sedangkan walaupun nyamuk",
    "swahili": "nimekwisha kuwasiliana mwanafunzi hakuna ninakupenda wanyamapori kiswahili tunapendekeza mheshimiwa",
    "turkish": "çekoslovakyalılaştıramadıklarımızdan görüşürüz teşekkürler öğretmenlerimiz yarın bulunmaktadır",
    "finnish": "epäjärjestelmällisyydellänsäkään hyvää huomenta yliopisto lentokonesuihkuturbiinimoottori ystäväni",
    "hungarian": "megszentségteleníthetetlenségeskedéseitekért köszönöm szépen egészségedre gyönyörű viszontlátásra",
    "polish": "szczęście źdźbło dziękuję przepraszam chrząszcz brzmi trzcinie konstantynopolitańczykowianeczka wkrótce",
    "czech": "nejneobhospodařovávatelnějšími příliš žluťoučký kůň úpěl ďábelské ódy zmrzlina čtvrtek děkuji",
    "welsh": "llanfairpwllgwyngyll cyfrifiadur prynhawn gwasanaethau cwmwl ysgrifennwyd llyfrgell bywyd",
    "vietnamese": "nghiêng người không được những trường thương khuya nguyễn thuyết quốc ngữ đường phở",
    "maltese": "mgħaddsa tgħallimt xorti ħobż ġurnata nistgħux għaliex żiemel Qrendi",
    "basque": "etxekoandrearenganaino eskerrik asko gaztelaniaz zoriontsu ikastetxeetako txakurrarekin",
    "icelandic": "vaðlaheiðarvegavinnuverkfærageymsluskúr þakka þér fyrir hvernig fjölskylda",
    "german": "Rindfleischetikettierungsüberwachung Straßenbahn Geschwindigkeitsbegrenzung überraschenderweise tschüss",
    "dutch": "arbeidsongeschiktheidsverzekering gezelligheid schoonschrijfwedstrijd ijsbaan",
    "yoruba": "ẹ káàárọ̀ báwo ni ọjọ́ ìbí àwọn ènìyàn ṣùgbọ́n Ọ̀ṣun",
    "nahuatl": "tlazohcamati nehuatl cuauhtemoc xochimilco popocatepetl huitzilopochtli ixtlilxochitl",
    "greenlandic": "kalaallisut illoqarfik nalunaarasuartaateeranngualioqatigiiffissualioriataallaqqissupilorujussuan",
    "tagalog": "pinakanakapagpapabagabag magandang umaga nakapagtataka salamat kinakailangan",
    "hawaiian": "humuhumunukunukuapuaa aloha kakahiaka hooponopono mahalo",
    "somali": "waxaan dhaqaalaha xiriirka soo dhawoow mahadsanid xuquuqda",
    "russian (letters)": "zdravstvuyte vzglyad dostoprimechatelnost khoroshiy shchuka perestroyka soobshchenie",
    "chinese (letters)": "zhongguo xuexi qingwen chuang nihao xiexie zhuangzi shuang lüxing quanqiu",
    "japanese (letters)": "watashitachi gozaimasu tsukuru kyuushuu shinkansen oyasuminasai hyakushou",
    "arabic (letters)": "wallahi khalas mabrouk yalla shukran qahwa 7abibi 3arabi habibti alhamdulillah",
    "hindi (letters)": "dhanyavaad swaagat kripya namaskaar bhaarateey shubhkaamnaayein",
    "english": "rhythm sphinx awkward kvetch syzygy unputdownable jazz quiz fjord waltz bivouac zugzwang myrrh",
}
SCRIPTS = {
    "latin b": ((0x0180, 0x024F),),
    "latin": ((0x00C0, 0x017F),),
    "ipa": ((0x0250, 0x02AF),),
    "greek": ((0x0370, 0x03FF),),
    "cyrillic": ((0x0400, 0x04FF),),
    "armenian": ((0x0531, 0x0587),),
    "hebrew": ((0x0591, 0x05F4),),
    "arabic": ((0x0600, 0x06FF),),
    "devanagari": ((0x0900, 0x097F),),
    "bengali, tamil": ((0x0980, 0x09FF), (0x0B80, 0x0BFF)),
    "thai, burmese": ((0x0E01, 0x0E5B), (0x1000, 0x109F)),
    "georgian, amharic": ((0x10A0, 0x10FF), (0x1200, 0x137F)),
    "marks, symbols": ((0x2000, 0x2BFF),),
    "kana": ((0x3041, 0x30FF),),
    "han": ((0x4E00, 0x9FFF),),
    "hangul": ((0xAC00, 0xD7A3),),
    "full width": ((0xFF01, 0xFF5E),),
    "emoji": ((0x1F300, 0x1FAFF),),
    "planes": ((0x10000, 0x1FFFF),),
    "any": ((0x20, 0xD7FF), (0xE000, 0xFFFD)),
}
ENDINGS = ("s", "ing", "ed", "ness", "able", "ization", "er", "ly", "less", "ify")
BEGINNINGS = ("un", "re", "pre", "over", "anti", "micro", "de", "multi")


@cache
def _table() -> list[str]:
    return [item for item in COSTS.split() if item.isalpha()]


def word(rng: random.Random, letters: str, least: int, most: int) -> str:
    """Return random letters, `least` to `most` of them."""
    return "".join(rng.choices(letters, k=rng.randint(least, most)))


def _cased(rng: random.Random, text: str) -> str:
    return rng.choice((text, text, text.title(), text.upper(), text.swapcase()))


def _between_known(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    def mixed(rng: random.Random) -> str:
        share = rng.choice((0.1, 0.3, 0.6))
        return " ".join(make(rng) if rng.random() < share else rng.choice(KNOWN) for _ in range(rng.randint(5, 30)))

    return mixed


def _lined(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    def lines(rng: random.Random) -> str:
        return "\n".join(rng.choice(LINES).format(make(rng), make(rng)) for _ in range(rng.randint(1, 3)))

    return lines


def _nonce(rng: random.Random) -> str:
    return _cased(rng, word(rng, LOWER, 2, 28))


def _sounding(rng: random.Random) -> str:
    """A word that nobody knows and anybody could say."""
    parts = (rng.choice(("", *"bcdfghjklmnpqrstvwxz", "str", "pl", "kr")) + rng.choice("aeiouy") for _ in range(4))
    return "".join(parts) + rng.choice(("", "n", "x", "rst", "zz"))


def _key(rng: random.Random) -> str:
    return rng.choice(("sk-", "AKIA", "ghp_", "", "xoxb-")) + word(rng, LETTERS + string.digits, 16, 40)


def _hash(rng: random.Random) -> str:
    alphabet = rng.choice(
        ("abcdef", "ABCDEF", "0123456789abcdef", "abcdefghijklmnop", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
    )
    return word(rng, alphabet, 7, 64)


def _sequence(rng: random.Random) -> str:
    return word(rng, rng.choice(("ACGT", "acgt", "ACGU", "ACDEFGHIKLMNPQRSTVWY")), 12, 80)


def _spoken(rng: random.Random) -> str:
    words = SPOKEN[rng.choice(tuple(SPOKEN))].split()
    return " ".join(
        _cased(rng, choice) if rng.random() < 0.2 else choice for choice in rng.choices(words, k=rng.randint(1, 9))
    )


def _plain(rng: random.Random) -> str:
    """Words of a language without their accents, as they stand in ids and in old files."""
    return unicodedata.normalize("NFKD", _spoken(rng)).encode("ascii", "ignore").decode()


def _formed(rng: random.Random) -> str:
    """A word that a dictionary does not have, made of what it has."""
    stem = rng.choice(KNOWN) if rng.random() < 0.5 else _sounding(rng)
    return rng.choice((*BEGINNINGS, "", "")) + stem + "".join(rng.choices(ENDINGS, k=rng.randint(0, 2)))


def _identifier(rng: random.Random) -> str:
    parts = [rng.choice((rng.choice(KNOWN), word(rng, LOWER, 1, 6), _sounding(rng))) for _ in range(rng.randint(1, 5))]
    camel = "".join(part.title() for part in parts)
    return rng.choice(("_".join(parts), "-".join(parts), camel, camel[:1].lower() + camel[1:], "_".join(parts).upper()))


def _code(rng: random.Random) -> str:
    names = [_identifier(rng) for _ in range(4)]
    line = rng.choice((
        "{0}.{1}({2}={3!r})[{0}]", "if ({0}->{1} != {2}) {{ {3}++; }}", "{0}::{1}<{2}>({3})", "/{0}/{1}/{2}.{3}",
        '<{0} {1}="{2}">{3}</{0}>', "${0}=${{{1}}}|{2}&&{3}", "\t\t{0},\t{1};\r\n\t{2}", "#{0} @{1} %{2} ~{3}",
    ))  # fmt: skip
    return " " * rng.choice((0, 0, 2, 4, 8, 11)) + line.format(*names)


def _json(rng: random.Random) -> str:
    rows = [
        {
            rng.choice(("id", "name", "key", _identifier(rng))): rng.choice(
                (_nonce(rng), rng.getrandbits(40), _spoken(rng))
            )
        }
        for _ in range(rng.randint(1, 4))
    ]
    return json.dumps(rows, indent=rng.choice((None, None, 1, 2, 4, "\t")), ensure_ascii=rng.random() < 0.5)


def _yaml(rng: random.Random) -> str:
    lines, depth = [], 0
    for _ in range(rng.randint(3, 12)):
        lines.append(" " * (depth * rng.choice((2, 2, 3, 4))) + rng.choice(("- ", "")) + _identifier(rng) + ":")
        if rng.random() < 0.6:
            lines[-1] += " " + rng.choice((_nonce(rng), str(rng.randint(0, 99999)), '"' + _spoken(rng) + '"', "|"))
        depth = max(0, depth + rng.choice((-1, 0, 1, 1)))
    return "\n".join(lines)


def _spelled(rng: random.Random) -> str:
    """Text with every line break, quote and letter beyond ASCII spelled out."""
    text = "\n".join(_code(rng) if rng.random() < 0.5 else _spoken(rng) for _ in range(3))
    return json.dumps(json.dumps(text) if rng.random() < 0.3 else text)


def _numbers(rng: random.Random) -> str:
    made: tuple[str, ...] = (
        str(rng.getrandbits(rng.randint(1, 90))), f"{rng.gauss(0, 1000):.4f}", hex(rng.getrandbits(64)),
        str(uuid.UUID(int=rng.getrandbits(128))), f"{rng.randint(1900, 2100)}-{rng.randint(1, 12):02}-01",
        f"{rng.random():e}", f"{rng.randint(1, 10**7):,}",
    )  # fmt: skip
    return rng.choice((" ", ",", "\n", "\t", "  ")).join(rng.choices(made, k=rng.randint(1, 8)))


def _marks(rng: random.Random) -> str:
    return word(rng, string.punctuation + " \n\t", 1, 60)


def _tabled(rng: random.Random) -> str:
    """Words that the estimator has in its table, between what a vocabulary may take together with them."""
    seams = (
        " ",
        " ",
        ".",
        "_",
        "-",
        "/",
        "(",
        '"',
        "'",
        "1'",
        "b'",
        "\\n",
        "\\t",
        "\\r",
        '\\"',
        "\t",
        "\n",
        "1",
        "$",
        "",
    )
    words = [rng.choice(seams) + _cased(rng, rng.choice(_table())) for _ in range(rng.randint(1, 3))]
    return "".join(words) * rng.randint(1, 6)


def _drawn(rng: random.Random) -> str:
    """Rules, tables and trees, as programs print them."""
    rows = []
    for _ in range(rng.randint(1, 5)):
        rule, join = rng.choice("-=*#/_.~+─━═│█"), rng.choice(("|", "+", " ", "├", "┼", "", ":", "\\"))
        cells = [rule * rng.randint(1, 90) for _ in range(rng.randint(1, 4))]
        rows.append(
            rng.choice(("", " ", "│   ├── ", "    └── ", "//", "\t")) + join.join(cells) + rng.choice(("", "\r", "x"))
        )
    return "\n".join(rows)


def _spaces(rng: random.Random) -> str:
    return (
        "".join(rng.choice((" ", "\n", "\t", "\r\n", " ")) * rng.randint(1, 20) for _ in range(rng.randint(1, 9))) + "x"
    )


def _ascii(rng: random.Random) -> str:
    return word(rng, string.printable, 1, 120)


def _repeated(rng: random.Random) -> str:
    piece = rng.choice((_nonce(rng), rng.choice(string.printable), _marks(rng)[:3], rng.choice(KNOWN)))
    return rng.choice(("", " ")).join([piece] * rng.randint(2, 60))


def _base64(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(rng.randint(6, 90))).decode()


def _script(name: str) -> Callable[[random.Random], str]:
    spans = SCRIPTS[name]

    def made(rng: random.Random) -> str:
        draw = [chr(rng.randint(*rng.choice(spans))) for _ in range(rng.randint(1, 12))]
        return "".join(rng.choice(draw) + (" " if rng.random() < 0.1 else "") for _ in range(rng.randint(1, 60)))

    return made


FAMILIES: Mapping[str, Callable[[random.Random], str]] = {
    "nonce words": _nonce,
    "nonce words between known ones": _between_known(_nonce),
    "nonce words in lines": _lined(_nonce),
    "24 letters in lines": _lined(lambda rng: _cased(rng, word(rng, LOWER, 24, 24))),
    "words that could be": _between_known(_sounding),
    "formed words": _between_known(_formed),
    "keys": _between_known(_key),
    "hashes in letters": _between_known(_hash),
    "sequences": _between_known(_sequence),
    "languages": _spoken,
    "languages between english": _between_known(_spoken),
    "languages without accents": _plain,
    "identifiers": _between_known(_identifier),
    "code": _code,
    "json": _json,
    "yaml": _yaml,
    "spelled out": _spelled,
    "numbers": _numbers,
    "marks": _marks,
    "table words": _tabled,
    "drawn": _drawn,
    "spaces": _spaces,
    "ascii": _ascii,
    "repeated": _repeated,
    "base64": _base64,
    **{name: _script(name) for name in SCRIPTS},
}


def texts(name: str, count: int, seed: int = 0) -> list[str]:
    """Return so many texts of a family."""
    rng = random.Random(f"{name} {seed}")  # noqa: S311  (texts to count, not secrets)
    return [FAMILIES[name](rng) for _ in range(count)]


def worst_words(
    bound: Callable[[str], int], count: Callable[[str], int], pool: Sequence[str], most: int = 200
) -> list[str]:
    """Return the words of a pool that stand nearest to their bound, or above it, by one tokenizer's count."""
    return sorted(pool, key=lambda one: bound(one) / max(1, count(one)))[:most]
