"""The shared front end of the figures, and how a figure's files become one module."""

import re
from pathlib import Path

import pytest

from tformer import widgets
from tformer.widgets._figure import PageFigure, joined_module, joined_style

FIGURES = [
    each
    for each in (getattr(widgets, name) for name in widgets.__all__)
    if isinstance(each, type) and issubclass(each, PageFigure)
]


def test_numbers_on_the_page_have_a_real_minus_and_no_minus_zero(node):
    shown = node(
        "import { format } from './kit/kit.js';"
        "console.log(JSON.stringify([-Infinity, Infinity, NaN, -0.001, -1.5, 2]"
        ".map((x) => format(x))))"
    )
    assert shown == ["−∞", "∞", "NaN", "0.00", "−1.50", "2.00"]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda each: each.__name__)
def test_a_figure_is_one_module_that_needs_nothing_else(figure, node, tmp_path):
    text = str(figure._esm)
    assert not re.search(
        r"^\s*import\b|\bimport\(|\bfetch\(|https?://(?!www\.w3)", text, re.M
    )
    (tmp_path / "figure.mjs").write_text(text, encoding="utf-8")
    uri = (tmp_path / "figure.mjs").as_uri()
    kind = node(
        f"import made from '{uri}'; console.log(JSON.stringify(typeof made.render))"
    )
    assert kind == "function"


def test_no_two_figures_share_a_class_name_since_their_styles_would_meet():
    folder = Path(widgets.__file__).parent
    found = [
        name
        for path in sorted(folder.rglob("*.js"))
        for name in set(re.findall(r'\bfigure\(el, [^,]*?"(\w+)"', path.read_text()))
    ]
    assert len(found) > 10
    assert len(set(found)) == len(found), sorted(found)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda each: each.__name__)
def test_a_figure_keeps_its_place_on_the_page(figure):
    heights = figure().get_state(["page_height", "page_height_narrow"])
    assert all(height > 0 for height in heights.values())


def test_files_that_use_the_same_private_names_can_be_joined(node, tmp_path):
    (tmp_path / "low.js").write_text(
        "const secret = 1;\nexport const one = secret;\nexport function two() {\n"
        "  return 2 * secret;\n}\n"
    )
    (tmp_path / "high.js").write_text(
        'import { two } from "./low.js";\nimport * as low from "./low.js";\n'
        "const secret = 10;\nexport const ten = secret * low.one * two() / 2;\n"
    )
    (tmp_path / "main.js").write_text(
        'import {\n  one as first,\n  two,\n} from "./low.js";\n'
        "import { ten } from './high.js';\nconst secret = 100;\n"
        "export default [first, two(), ten, secret];\n"
    )
    joined = joined_module(tmp_path / "main.js")
    (tmp_path / "joined.mjs").write_text(joined)
    uri = (tmp_path / "joined.mjs").as_uri()
    found = node(f"import x from '{uri}'; console.log(JSON.stringify(x))")
    assert found == [1, 2, 10, 100]
    assert joined.count("return 2 * secret") == 1


def test_a_style_sheet_takes_in_those_that_it_imports(tmp_path):
    (tmp_path / "other.css").write_text(".other { color: red; }\n")
    (tmp_path / "own.css").write_text('@import "./other.css";\n.own { margin: 0; }\n')
    joined = joined_style(tmp_path / "own.css")
    assert "@import" not in joined
    assert joined.endswith(".other { color: red; }\n\n.own { margin: 0; }\n")
    assert "@import" not in "".join(str(figure._css) for figure in FIGURES)


@pytest.mark.parametrize(
    "line",
    [
        "import x from './low.js';",
        "import './low.js';",
        "import { a } from 'https://elsewhere';",
        "export { a };",
        "export * from './low.js';",
    ],
)
def test_an_import_that_cannot_be_joined_is_refused(tmp_path, line):
    (tmp_path / "main.js").write_text(f"{line}\nexport default 1;\n")
    with pytest.raises(ValueError, match="main.js has .*write import"):
        joined_module(tmp_path / "main.js")


def test_files_that_import_each_other_are_refused(tmp_path):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match="imports itself"):
        joined_module(tmp_path / "a.js")
