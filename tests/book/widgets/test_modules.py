"""What the figures' files import, and how they reach a page or a notebook."""

import json
import re

import pytest

from tformer_book.widgets import _modules
from tformer_book.widgets._modules import imports, linked, needed, publish, style_text


@pytest.fixture
def write(tmp_path):
    """``write("a.js", "text")``: the file, in a folder of the test's own."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_imports_are_found_however_they_are_written(write):
    low = write("low.js", "export const one = 1;\n")
    high = write("kit/high.js", "export default 2;\n")
    main = write(
        "main.js",
        '// import { no } from "./no.js";\n/* import "./no.js"; */\n'
        'import {\n  one as first, // "./no.js";\n  /* ; */ one,\n} from "./low.js";\n'
        "import high, * as all from './kit/high.js' ; import './low.js';\n"
        'const text = `import { no } from "./no.js";`;\n',
    )
    found = imports(main)
    assert [each.file for each in found] == [low, high, low]
    text = main.read_text()
    addresses = ["./low.js", "./kit/high.js", "./low.js"]
    assert [text[each.start : each.end] for each in found] == addresses
    assert needed(main) == [low, high, main]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('import x from "https://elsewhere";', "write import"),
        ('import { a } from "./low.js"\nconst b = a;', "with a semicolon"),
        ('import data from "./low.js" with { type: "json" };', "with a semicolon"),
        ('import("./low.js");', "write import"),
        ('import { a } from "./away.js";', "imports './away.js', which is not there"),
        ("import { a }", "write import"),
    ],
)
def test_an_import_that_cannot_be_followed_is_refused(write, line, said):
    write("low.js", "export const a = 1;\n")
    with pytest.raises(ValueError, match=rf"main\.js .*{said}"):
        imports(write("main.js", f"{line}\nexport default 1;\n"))


def test_files_that_import_each_other_are_refused(write):
    write("b.js", 'import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match=r"a\.js imports itself, through b\.js"):
        needed(write("a.js", 'import { b } from "./b.js";\n'))


def test_linked_texts_say_the_same_but_for_the_addresses(write):
    write("low.js", "export const one = 1;\n")
    main = write(
        "main.js", 'import { one } from "./low.js";\nexport default `é${one}`;\n'
    )
    [[low, texts], [_, parts]] = json.loads(linked(main))
    assert texts == ["export const one = 1;\n"]
    assert parts == ['import { one } from "', low, '";\nexport default `é${one}`;\n']


def test_a_style_sheet_follows_those_that_it_imports(write):
    write("kit.css", "/* shared; */\n.kit { color: blue; }\n")
    write("other.css", '@import "./kit.css";\n.other { color: red; }\n')
    own = '/* a; */ @import "./kit.css";\n@import "./other.css";\n.own { margin: 0; }\n'
    assert style_text(write("own.css", own)) == (
        "/* shared; */\n.kit { color: blue; }\n\n.other { color: red; }\n\n"
        ".own { margin: 0; }\n"
    )


@pytest.mark.parametrize(
    "line", ['@import url("./kit.css");', '@import "./kit.css" print;']
)
def test_a_style_sheet_that_cannot_be_followed_is_refused(write, line):
    write("kit.css", "")
    with pytest.raises(ValueError, match=r"own\.css .*write @import"):
        imports(write("own.css", line))


@pytest.mark.parametrize(
    "file", _modules.files(), ids=lambda each: "/".join(each.parts[-2:])
)
def test_every_file_imports_only_at_its_head_and_only_files_of_the_package(file):
    """A browser would follow a later import, too, but a notebook could not."""
    found = imports(file)
    assert all(each.file.is_relative_to(_modules.FOLDER) for each in found)
    rest = file.read_text("utf-8")[max((each.stop for each in found), default=0) :]
    code = [line for line in rest.splitlines() if not line.lstrip().startswith("//")]
    assert not [line for line in code if line.startswith(("import", "@import"))]
    assert not [
        line for line in code if re.search(r"\bimport\(|https?://(?!www\.w3)", line)
    ]
    assert not [line for line in code if line.startswith("export") and " from " in line]


def test_what_is_published_is_what_the_package_has_in_a_folder_of_its_version(tmp_path):
    host = tmp_path / "host.js"
    host.write_text("first")
    first = publish(tmp_path / "site", host)
    for file in _modules.files():
        copy = first / file.relative_to(_modules.FOLDER)
        assert copy.read_bytes() == file.read_bytes()
    assert (first / "host.js").read_text() == "first"
    assert publish(tmp_path / "site", host) == first
    host.write_text("again")
    second = publish(tmp_path / "site", host)
    assert second != first
    assert [each.name for each in second.parent.iterdir()] == [second.name]
