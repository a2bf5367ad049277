"""Finding literals: what counts, in which form, where it stands, and at what cost."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.literals import LiteralPlace, find_literals, is_path, literals_of, placed_literals

WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=8)
PATH = st.lists(WORD, min_size=2, max_size=5).map(lambda parts: f"src{'/'.join(parts)}/{parts[0]}.py")
SNAKE = st.lists(WORD, min_size=2, max_size=4).map("_".join).filter(lambda name: len(name) >= 6)
CAMEL = st.lists(WORD, min_size=2, max_size=4).map(
    lambda parts: "use" + "".join(part.title() for part in parts),
)
HASH = st.text(alphabet="0123456789abcdef", min_size=7, max_size=40)
NUMBER = st.integers(min_value=10_000, max_value=10**15).map(str)
BETWEEN = st.sampled_from([" ", ", ", "\n", "; ", " (", ") ", ' "', '" ', " = ", "`", " | "])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open /home/ann/shop/src/cart.py now", {"/home/ann/shop/src/cart.py"}),
        ("open src/cart.py, then ../lib/tax.js.", {"src/cart.py", "../lib/tax.js"}),
        ("see cart.py, cart_items.h, CartService.java", {"cart.py", "cart_items.h", "CartService.java"}),
        ("cart_items.append and CartService.load", {"cart_items", "CartService"}),
        ("~/.config/shop/settings.toml", {"~/.config/shop/settings.toml"}),
        ("import @shop/cart-core here", {"@shop/cart-core"}),
        ("https://example.com/a/b?page=2", {"/example.com/a/b"}),
        ("call addToCart() in class ShopCart", {"addToCart", "ShopCart"}),
        ("total_price and _private_name, MAX_ITEMS", {"total_price", "_private_name", "MAX_ITEMS"}),
        ("commit 3f2a91c, sha 00ff00ff00ff", {"3f2a91c", "00ff00ff00ff"}),
        ("booking 8JX2WO on flight HAT069", {"8JX2WO", "HAT069"}),
        ("card credit_card_4421486 of mia_li_3668", {"credit_card_4421486", "mia_li_3668"}),
        ("on 2024-05-20 with gpt-4o-mini", {"2024-05-20", "gpt-4o-mini"}),
        ("write to mia.li@example.com.", {"mia.li@example.com"}),
        ("order 4711234, 12 pieces at 1999", {"4711234"}),
        ("this.cart and shop.items.push(item)", {"this.cart", "items.push"}),
        ("took 119ms and 40%", set()),
        ("Plain words, even UPPER CASE or don't and well-known, are none.", set()),
        ("", set()),
        ("日本語の文章です。", set()),
        ("a" * 500 + "_" + "b" * 500, set()),
    ],
)
def test_literals_of_finds_what_must_be_repeated_letter_by_letter(text: str, expected: set[str]) -> None:
    """Paths in their written form, identifiers, ids, hashes, dates, long numbers; not words, measures or data."""
    assert literals_of(text) == expected


def test_literals_of_keeps_each_written_form_of_one_file() -> None:
    """Absolute, relative and bare are three literals: an agent needs the one it used."""
    text = "/srv/shop/src/cart.py src/cart.py cart.py"
    assert literals_of(text) == {"/srv/shop/src/cart.py", "src/cart.py", "cart.py"}


@given(names=st.lists(st.one_of(PATH, SNAKE, CAMEL, HASH, NUMBER), min_size=1, max_size=12), between=BETWEEN)
def test_literals_of_finds_every_kind_among_others(names: list[str], between: str) -> None:
    """Whatever stands between them: each path, identifier, hash and number is found, alone or in a longer one."""
    found = literals_of(between.join(names))
    assert all(any(name in literal for literal in found) for name in names)


@given(text=st.text(max_size=400))
def test_find_literals_gives_positions_where_they_stand_in_order(text: str) -> None:
    """On any text, without raising: the literal is at its position, and positions rise."""
    places = list(find_literals(text))
    assert all(text[at : at + len(literal)] == literal for at, literal in places)
    assert [at for at, _ in places] == sorted(at for at, _ in places)


@given(text=st.text(alphabet="ab/._-@A1 \n\\\"'({", max_size=300))
def test_placed_literals_are_literals_of_the_text(text: str) -> None:
    """A place is given to literals only; at most the letter of an escape in front of one is left out."""
    found = literals_of(text)
    assert all(name in found or any(literal[1:] == name for literal in found) for name in placed_literals(text))


@pytest.mark.parametrize(
    ("code", "name", "place"),
    [
        ("def load_cart(path):", "load_cart", LiteralPlace.DEFINED),
        ("class ShopCart(Base):", "ShopCart", LiteralPlace.DEFINED),
        ("export interface CartItem {", "CartItem", LiteralPlace.DEFINED),
        ("async function loadCart() {", "loadCart", LiteralPlace.DEFINED),
        ("	private async loadCart(id: string): Promise<void> {", "loadCart", LiteralPlace.DEFINED),
        ("func (s *Shop) LoadCart(id int) error {", "LoadCart", LiteralPlace.USED),
        ("pub fn load_cart(id: u32) -> Cart {", "load_cart", LiteralPlace.DEFINED),
        ("CREATE TABLE cart_items (", "cart_items", LiteralPlace.DEFINED),
        ("from shop.cart_core import load_cart", "load_cart", LiteralPlace.IMPORTED),
        ('import { loadCart } from "../cart/load.js";', "../cart/load.js", LiteralPlace.IMPORTED),
        ('const loadCart = require("./cart");', "loadCart", LiteralPlace.IMPORTED),
        ('#include "cart_items.h"', "cart_items.h", LiteralPlace.IMPORTED),
        ("if (loadCart(id)) {", "loadCart", LiteralPlace.USED),
        ("total = load_cart(path).total", "load_cart", LiteralPlace.USED),
    ],
)
def test_placed_literals_tell_definition_import_and_use_apart(code: str, name: str, place: LiteralPlace) -> None:
    """By keywords and by the shape of the line, in several languages; where it can't be told: used."""
    found = placed_literals(code)
    assert found[name] is place


def test_placed_literals_keep_the_strongest_place() -> None:
    """A name that is used above and defined below is defined."""
    assert placed_literals("load_cart()\ndef load_cart():\n    load_cart()")["load_cart"] is LiteralPlace.DEFINED


def test_placed_literals_leave_out_the_letter_of_an_escape() -> None:
    r"""In a quoted text `\nTotalPrice` names TotalPrice; the n belongs to the line end."""
    assert set(placed_literals(r'print("done\nTotalPrice is \tcart_total")')) == {"TotalPrice", "cart_total"}


def test_is_path_asks_for_a_slash() -> None:
    """A bare file name is none."""
    assert is_path("src/cart.py")
    assert not is_path("cart.py")


@pytest.mark.parametrize("unit", ["a/", "aB", "a.b@", "_a", "1-", "\\n", "x" * 50 + " "])
def test_find_literals_takes_time_in_proportion_to_the_text(unit: str) -> None:
    """One line of two million characters, of whatever pattern, is read in seconds, not hours."""
    text = unit * (2_000_000 // len(unit))
    start = time.process_time()
    literals_of(text)
    assert time.process_time() - start < 15


def test_literals_are_at_least_as_wide_as_a_plain_pattern_of_names() -> None:
    """On a text of our own: what a plain pattern calls a path, name, hash or number is found in some form."""
    text = (
        "In src/shop/cart.ts the cartTotal of order_items is wrong: see commit 9c41d0e and ticket 104233.\n"
        'import { taxRate } from "../tax/rates.js"\nconst cartTotal = order_items.reduce((sum, item) => sum + 1);'
    )
    plain = re.findall(r"[\w@.~-]*(?:/[\w@.-]+)+|[a-z]+[A-Z]\w+|[a-z]+_[a-z_]+|\b[0-9a-f]{7,}\b|\b\d{6,}\b", text)
    found = literals_of(text)
    assert plain
    assert all(any(name.rstrip(".") in literal for literal in found) for name in plain)
