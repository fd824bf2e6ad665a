"""The shared front end of the figures."""

import re
from pathlib import Path

from tformer_book import widgets

NUMBERS = "kit/numbers.js"


def test_numbers_on_the_page_have_a_real_minus_and_no_minus_zero(js):
    shown = js(
        NUMBERS, "[-Infinity, Infinity, NaN, -0.001, -1.5, 2].map((x) => format(x))"
    )
    assert shown == ["−∞", "∞", "NaN", "0.00", "−1.50", "2.00"]


def test_large_numbers_are_grouped_and_shares_stay_with_their_sign(js):
    shown = js(
        NUMBERS,
        "[...[1, 999, 1000, 1e9].map(commas), percent(0.125), percent(0.995, 0)]",
    )
    assert shown == ["1", "999", "1,000", "1,000,000,000", "12.5\xa0%", "100\xa0%"]


def test_a_share_that_is_not_0_is_not_called_0(js):
    shown = js(NUMBERS, "[0, 0.0004, 0.0005].map((x) => percent(x))")
    assert shown == ["0.0\xa0%", "<0.1\xa0%", "0.1\xa0%"]
    assert js(NUMBERS, "percent(0.004, 0)") == "<1\xa0%"


def test_an_exponent_is_raised_and_the_nearest_number_is_found_by_ratio(js):
    powers, places = js(
        NUMBERS,
        "[[-12, 0, 3].map(powerOfTen),[1, 3.9, 7, 100, 1e9].map((x) => "
        "nearest([2, 8, 1000], x))]",
    )
    assert powers == ["10⁻¹²", "10⁰", "10³"]
    assert places == [0, 0, 1, 2, 2]  # by difference, 100 would be nearer to 8


def test_a_byte_shows_as_its_character_if_it_is_one_that_can_be_seen(node):
    shown = node(
        "import { shown, spoken, written } from './kit/pieces.js';"
        "const bytes = ['<0x3B>', '<0x5F>', '<0x7E>', '<0x20>', '<0x0A>', '<0x7F>',"
        " '<0xE2>', '▁dog'];"
        "console.log(JSON.stringify([...bytes.map(shown), spoken('<0x3B>'),"
        " written(['▁a', '<0x3B>', '▁b', '</s>'])]))"
    )
    kept = ["<0x20>", "<0x0A>", "<0x7F>", "<0xE2>", "▁dog"]
    assert shown == [";", "_", "~", *kept, ";", "a; b"]


def test_a_text_has_the_characters_that_runs_of_bytes_spell(js):
    oe, dog = ["<0xC3>", "<0x96>"], ["<0xF0>", "<0x9F>", "<0x90>", "<0x95>"]
    given = [["▁", *oe, "l"], ["▁a", *dog, "▁b"], ["▁a", dog[0], dog[1]], ["▁", oe[0]]]
    written = js("kit/pieces.js", "given.map(written)", given)
    assert written == ["Öl", "a\U0001f415 b", "a", ""]


def test_each_helper_that_figures_share_is_written_once():
    """A copy would drift: what reads like one belongs in the kit."""
    copies = (r"toLocaleString", r"\bArrow(Up|Down|Left|Right): [ijt] [+-] 1", r"\|◀")
    for path in sorted(Path(widgets.__file__).parent.rglob("*.js")):
        if "kit" not in path.parts:
            text = path.read_text(encoding="utf-8")
            assert not re.search("|".join(copies), text), path


def test_keys_walk_as_far_as_there_are_places(node):
    shown = node(
        """
        import { ALONG, GRID, arrowKeys, within } from "./kit/arrows.js";
        let hear;
        const node = { addEventListener: (_, each) => { hear = each; } };
        let at = 1;
        const seen = [];
        arrowKeys(node, ALONG, (by) => { at = within(at + by, 5); seen.push(at); });
        const press = (key, more = {}) => {
          let kept = false;
          hear({ key, preventDefault: () => { kept = true; }, ...more });
          return kept;
        };
        const pressed = ["End", "ArrowRight", "ArrowLeft", "Home", "ArrowLeft"];
        const kept = pressed.map((key) => press(key));
        const left = [press("a"), press("toString"), press("End", { ctrlKey: true })];
        arrowKeys(node, GRID, () => false);
        console.log(JSON.stringify([seen, kept, left, press("ArrowUp")]));
        """
    )
    assert shown == [[4, 4, 3, 0, 0], [True] * 5, [False] * 3, False]


def test_what_is_remembered_is_worked_out_anew_for_other_arguments_only(node):
    shown = node(
        """
        import { remembered } from "./kit/remembered.js";
        const [one, same, other] = [["a"], ["a"], ["b"]];
        let times = 0;
        const joined = remembered((a, b) => { times++; return [...a, b].join(""); });
        const seen = [[one, 1], [one, 1], [one, 2], [same, 2], [other, 2], [one, 1]];
        console.log(JSON.stringify(seen.map((each) => [joined(...each), times])));
        """
    )
    assert shown == [["a1", 1], ["a1", 1], ["a2", 2], ["a2", 3], ["b2", 4], ["a1", 5]]


def test_no_two_figures_share_a_class_name_since_their_styles_would_meet():
    folder = Path(widgets.__file__).parent
    found = [
        name
        for path in sorted(folder.rglob("*.js"))
        for name in set(re.findall(r'\bfigure\(el, [^,]*?"(\w+)"', path.read_text()))
    ]
    assert len(found) > 10
    assert len(set(found)) == len(found), sorted(found)
