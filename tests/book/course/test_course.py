"""Material for a class: nothing given away, nothing lost, every point deserved."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import re
import sys
import types
import zipfile
from unittest import mock

import pytest
from answers import load as load_answers
from myst_parser.mdit_to_docutils.base import default_slugify

from tformer_book.course import handouts, otter, page, slides, trial
from tformer_book.course.__main__ import write
from tformer_book.course.problems import (
    NotAProblem,
    given,
    load,
    problems,
    without_hints,
)
from tformer_book.course.sessions import FILE, MINUTES, Session, sessions, worth
from tformer_book.press import setup_cell
from tformer_book.press.chapters import ROOT, chapters, keys, read, source, tags
from tformer_book.press.labels import is_answer

SESSIONS = sessions()
STEMS = {path.stem for path in chapters()}
LINK = re.compile(r"\]\(([^)\s]+)\)")
GRADED = [
    pytest.param(*each, id=f"{each[2].grader}-{session.number}")
    for session in SESSIONS
    for each in session.graded()
]

each_session = pytest.mark.parametrize("session", SESSIONS, ids=lambda s: s.name)


def below_problems(path):
    """A chapter's cells from the heading *Problems* on, as they are stored."""
    cells = read(path)["cells"]
    [first] = [i for i, cell in enumerate(cells) if "## Problems" in source(cell)]
    return cells[first:]


def text_of(notebook):
    """All that a reader of a notebook sees."""
    return "\n".join(source(cell) for cell in notebook["cells"])


def code_of(notebook):
    """The code cells of a notebook, its setup cell apart."""
    return [
        source(cell)
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and setup_cell.TAG not in tags(cell)
    ]


def run_cells(notebook):
    """Run a notebook as Otter does: what fails is left behind, the rest goes on."""
    env, failed = {}, []
    for at, code in enumerate(code_of(notebook)):
        file = f"<cell {at} of {id(notebook)}>"  # where checkers look for a line
        linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                exec(compile(code, file, "exec"), env)
            except Exception as problem:
                failed.append(f"{type(problem).__name__}: {problem}\n{code}")
    return env, failed


class Case:
    """Stands for Otter's ``test_case``."""

    def __init__(self, **about):
        self.points, self.hidden = about["points"], about["hidden"]

    def __call__(self, function):
        self.function = function
        return self


def grade(test, env):
    """Run a test file without Otter; return its name, its points and its message."""
    files = types.ModuleType("otter.test_files")
    files.test_case = Case
    names: dict[str, object] = {}
    both = {"otter": types.ModuleType("otter"), "otter.test_files": files}
    with mock.patch.dict(sys.modules, both):
        exec(compile(test, "<test>", "exec"), names)
    assert names["OK_FORMAT"] is False  # Otter asks: exceptions, not doctests
    [case] = [value for value in names.values() if isinstance(value, Case)]
    assert case.points == names["points"] and not case.hidden
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            case.function(env)
    except AssertionError as failed:
        return names["name"], 0, str(failed)
    return names["name"], case.points, ""


def grade_all(session, env):
    """What each test of a session gives: points and message, by the test's name."""
    found = {}
    for each in session.graded():
        name, points, message = grade(otter.test_of(*each), env)
        found[name] = points, message
    return found


# --- sessions and their page ---------------------------------------------------------


def test_there_are_six_sessions_and_each_fills_its_time():
    assert len(SESSIONS) == 6
    for session in SESSIONS:
        assert sum(minutes for minutes, _ in session.plan) == MINUTES, session.title


def test_each_session_reads_what_the_book_has_and_no_chapter_is_read_twice():
    read_before = [c.path.stem for session in SESSIONS for c in session.chapters]
    assert set(read_before) <= STEMS
    assert read_before == sorted(set(read_before))
    assert set(read_before) >= {f for f in STEMS if re.match(r"0\d|1[0-2]", f)}


@each_session
def test_each_problem_of_a_plan_exists(session):
    assert session.in_class()


def headings(name):
    """The addresses on a page of the book."""
    path = ROOT / "book" / name
    text = path.read_text("utf-8") if path.suffix == ".md" else text_of(read(path))
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    heads = re.findall(r"^#{1,3} (.+)$", text, flags=re.M)
    return {default_slugify(re.sub(r"\$[^$]*\$|[*`]", "", head)) for head in heads}


def test_what_the_page_for_teachers_refers_to_exists():
    text = (ROOT / "book/for-teachers.md").read_text("utf-8") + page.text()
    targets = {t for t in LINK.findall(text) if not t.startswith("https://")}
    assert len(targets) > 40
    for target in targets:
        name, _, anchor = target.partition("#")
        assert (ROOT / "book" / name).is_file(), target
        assert not anchor or anchor in headings(name), target


def test_the_page_for_teachers_names_commands_and_files_that_exist(tmp_path):
    text = (ROOT / "book/for-teachers.md").read_text("utf-8")
    assert "make course" in text
    assert re.search(r"^course: .*## ", (ROOT / "Makefile").read_text("utf-8"), re.M)
    write(tmp_path)
    named = re.findall(r"`?((?:instructor|handouts|slides)/[\w./-]+\.\w+)", text)
    assert len(named) > 3
    assert [name for name in named if not (tmp_path / name).is_file()] == []


def test_the_site_puts_the_sessions_into_the_page():
    from tformer_book.site.sessions import PAGE, put_sessions

    content = [(ROOT / f"{PAGE}.md").read_text("utf-8")]
    app = mock.Mock()
    put_sessions(app, PAGE, content)
    assert "{sessions}" not in content[0]
    assert content[0].count("\n### Session ") == len(SESSIONS)
    noted = [call.args[0] for call in app.env.note_dependency.call_args_list]
    assert any(each.endswith("sessions.toml") for each in noted)


@each_session
def test_the_page_names_every_function_and_the_points_there_are(session):
    text = page.session_text(session)
    total = sum(worth(problem) for _, problem, _ in session.graded())
    assert f"gives {total} points" in text
    for chapter, _, part in session.graded():
        assert re.search(rf"\b{chapter.label}\.{part.label}\b", text)


def test_sessions_name_problems_by_key_so_that_chapters_can_be_renumbered():
    assert not re.findall(r"\b\d+\.\d+\b", FILE.read_text("utf-8"))
    assert "{" not in page.text()


# --- reading the chapters ------------------------------------------------------------


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_no_function_that_a_chapter_asks_for_is_lost(path):
    if "## Problems" not in text_of(read(path)):
        return
    asked = [
        re.findall(r"^check\.(\w+)\(", source(cell), re.M)
        for cell in below_problems(path)
        if cell["cell_type"] == "code" and "raise NotImplementedError" in source(cell)
    ]
    found = [part.grader for p in load(path).problems for part in p.graded]
    assert found == [grader for graders in asked for grader in graders]


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_no_problem_that_a_chapter_poses_is_lost(path):
    if "## Problems" not in text_of(read(path)):
        return
    text = "\n".join(source(cell) for cell in below_problems(path))
    numbers = re.findall(r"^\*\*(\d+)\.\*\* ", text, re.M)
    assert [problem.number for problem in load(path).problems] == numbers
    assert numbers == [str(i + 1) for i in range(len(numbers))]


def test_a_hint_ends_where_its_bracket_does():
    text = "Show it. (Hint: (0.5, 0.5) lies (deep) inside.) And (this) stays."
    assert without_hints(text) == (
        "Show it. And (this) stays.",
        ["(0.5, 0.5) lies (deep) inside."],
    )


def cell(kind, text, *its_tags):
    return {"cell_type": kind, "source": text, "metadata": {"tags": list(its_tags)}}


STUB = "def mine(x):\n    raise NotImplementedError\n\n\ncheck.softmax(mine);"
SOLUTION = "# Solution to problem 1.\ndef mine(x): ...\n\n\nassert check.softmax(mine)"


def test_a_function_without_a_solution_is_an_error():
    with pytest.raises(NotAProblem, match="no solution of what check.softmax checks"):
        problems([cell("markdown", "**1.** Write it."), cell("code", STUB)])


def test_commands_to_the_notebook_are_no_obstacle():
    found = given([cell("code", "%pip install it\nimport math\n!ls\nPAD = 0")])
    assert found == {"math": "import math", "PAD": "PAD = 0"}


def test_text_after_a_solution_is_an_answer_and_text_before_a_stub_a_question():
    [problem] = problems(
        [
            cell("markdown", "**1.** Write it."),
            cell("code", STUB),
            cell("code", SOLUTION + "\nprint(chapters_own)"),
            cell("markdown", "And back."),
            cell("code", STUB.replace("softmax", "merge").replace("mine", "back")),
            cell("code", SOLUTION.replace("softmax", "merge").replace("mine", "back")),
            cell("markdown", "Does it fit the model?"),
            cell("code", "model(mine)"),
            cell("markdown", "It does, because softmax sums to 1."),
        ]
    )
    asked = [part for part in problem.asks if isinstance(part, str)]
    assert asked == ["Write it.", "And back."]
    assert [part.label for part in problem.graded] == ["1a", "1b"]
    assert problem.graded[0].solution == SOLUTION  # without what needs the chapter
    assert problem.answers == ["It does, because softmax sums to 1."]


def test_two_functions_of_one_name_in_a_session_are_an_error():
    session = Session(1, "", [], "", [], [c for s in SESSIONS for c in s.chapters])
    with pytest.raises(NotAProblem, match="my_step is two functions"):
        session.graded()


# --- handouts ------------------------------------------------------------------------


@each_session
def test_a_handout_has_no_solution_text(session):
    shown = text_of(handouts.handout(session))
    assert not re.search(r"<details|</summary>|# Solution|\bHint\b|Answer\.", shown)
    for chapter in session.chapters:
        cells = below_problems(chapter.path)
        open_code = "\n".join(
            source(each)
            for each in cells
            if each["cell_type"] == "code" and not is_answer(source(each))
        )
        secret = [
            line.strip()
            for each in cells
            if source(each).startswith("# Solution")
            for line in source(each).splitlines()
            if line.strip() not in open_code
        ]
        prose = "\n".join(source(c) for c in cells if c["cell_type"] == "markdown")
        for covered in re.findall(r"</summary>(.*?)</details>", prose, re.S):
            secret += re.split(r"\n|(?<=[.:;]) ", covered)
        long_enough = [each for each in secret if len(each.strip()) > 15]
        assert len(long_enough) > 10, chapter.title
        assert [each for each in long_enough if each in shown] == []


@each_session
def test_the_answers_have_what_the_handout_lacks(session):
    shown = text_of(handouts.answers(session))
    for _, _, part in session.graded():
        assert part.solution in shown
    for chapter in session.chapters:
        for problem in chapter.problems:
            for each in (*problem.hints, *problem.answers):
                assert handouts.on_the_site(each, chapter.path) in shown
            assert problem.graded or problem.answers, problem.number


@each_session
def test_a_handout_can_be_opened_anywhere(session):
    """It installs what it needs, and its links don't depend on where it lies."""
    notebook = handouts.handout(session)
    assert setup_cell.is_right(notebook)
    assert len({each["id"] for each in notebook["cells"]}) == len(notebook["cells"])
    targets = LINK.findall(text_of(notebook))
    assert targets
    assert [t for t in targets if not t.startswith("https://")] == []


@each_session
def test_a_blank_handout_runs_and_gets_nothing(session):
    env, failed = run_cells(handouts.handout(session))
    assert failed == []
    for points, message in grade_all(session, env).values():
        assert points == 0
        assert "Nothing to grade yet" in message


@each_session
def test_the_books_answers_run_by_themselves_and_get_all_points(session):
    env, failed = run_cells(handouts.answers(session))
    assert failed == []
    due = {otter.name_of(c, part): worth(p) for c, p, part in session.graded()}
    found = grade_all(session, env)
    assert {name: points for name, (points, _) in found.items()} == due


# --- the autograder ------------------------------------------------------------------


@each_session
def test_every_graded_problem_has_its_test_and_no_other(session, tmp_path):
    old = tmp_path / "tests/q99_1.py"
    old.parent.mkdir()
    old.write_text("from an earlier course")
    otter.write(session, tmp_path)
    names = {path.stem for path in tmp_path.glob("tests/*.py")}
    asked = {
        f"q{c.path.stem[:2]}_{part.label}": part.grader
        for c in session.chapters
        for problem in c.problems
        for part in problem.graded
    }
    again = set(asked) - names  # one function may be asked for twice
    assert names <= set(asked) and len(again) <= 1
    assert {asked[name] for name in again} <= {asked[name] for name in names}
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        assert {n for n in archive.namelist() if n.startswith("tests/")} == {
            f"tests/{name}.py" for name in names
        }
        config = json.loads(archive.read("otter_config.json"))
    assert config["lang"] == "python"
    first = (tmp_path / "autograder.zip").read_bytes()
    with mock.patch("zipfile.time.time", return_value=2e9):  # on another day
        otter.write(session, tmp_path)
    assert (tmp_path / "autograder.zip").read_bytes() == first


@pytest.mark.parametrize(("chapter", "problem", "part"), GRADED)
def test_right_answers_get_all_points_and_wrong_ones_none(chapter, problem, part):
    test = otter.test_of(chapter, problem, part)
    known = [each for each in load_answers() if each.problem == part.grader]
    right = next(each for each in known if each.diagnosis == "correct")
    wrong = next(e for e in known if e.diagnosis not in ("correct", "endless"))
    name, points, message = grade(test, {part.function: right.mine})
    assert (points, message) == (3 if problem.harder else 2, "")
    assert name == otter.name_of(chapter, part)
    _, points, message = grade(test, {part.function: wrong.mine})
    assert points == 0 and wrong.hint in message and len(message) > 30
    _, points, message = grade(test, {})
    assert (points, f"There is no {part.function}" in message) == (0, True)


def test_a_harder_problem_is_worth_more():
    attention = SESSIONS[2].chapters[0]
    assert [worth(attention.problem(number)) for number in ("7", "8")] == [2, 3]


def test_three_right_and_three_wrong_answers_get_exactly_their_points():
    """The same notebook that `course.trial` gives to Otter itself."""
    session = SESSIONS[3]
    notebook, due = trial.submission(session, n_right=3, n_wrong=3)
    env, failed = run_cells(notebook)
    assert failed == []
    found = grade_all(session, env)
    assert found.keys() == due.keys()
    for name, (points, message) in due.items():
        assert found[name][0] == points, name
        assert message in found[name][1]
    rights = [points for points, _ in due.values() if points]
    messages = {message for points, message in due.values() if not points}
    assert (rights, len(messages)) == ([2, 2, 2], 4)  # and what was left blank


def test_the_trial_notices_points_and_messages_that_are_not_due(capsys):
    due = {"q1": (2, ""), "q2": (0, "keepdim=True")}
    given = [
        {"name": "q1", "score": 2.0, "max_score": 2.0, "output": "passed"},
        {"name": "q2", "score": 0.0, "max_score": 2.0, "output": "say keepdim=True"},
    ]
    assert trial.judge({"tests": given}, due) == 0
    for at, key, value in ((0, "score", 0.0), (1, "score", 2.0), (1, "output", "")):
        other = [dict(each) for each in given]
        other[at][key] = value
        assert trial.judge({"tests": other}, due) == 1
    assert capsys.readouterr().out.count("WRONG") == 3


# --- slides --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decks():
    """The pages of all sessions, without figures: no chapter was executed."""
    with mock.patch.object(slides, "EXECUTED", ROOT / "nowhere"):
        return {session.number: slides.deck(session) for session in SESSIONS}


@each_session
def test_slides_ask_no_other_host_and_need_no_file_but_the_charts(session, decks):
    html, missing = decks[session.number]
    assert missing == [chapter.path.stem for chapter in session.chapters]
    sources = re.findall(r"(?:src|srcset|data-src)=\"([^\"]*)\"|url\(([^)]*)\)", html)
    assert not sources
    assert not re.search(r"<link|@import|fetch\(|import\s", html)


@each_session
def test_slides_have_what_to_take_away_and_no_solution(session, decks):
    html, _ = decks[session.number]
    assert html.count("<section>") == html.count("</section>") < 60
    for chapter in session.chapters:
        kept = slides.take_away(read(chapter.path)["cells"])
        assert html.count(f"What to remember: {chapter.title}") == 1
        assert kept.count("\n") >= 3
        for problem in chapter.problems:
            for each in problem.answers:
                assert slides.markdown(each) not in html
    assert "Hint" not in html and "$" not in re.sub(r"<script.*", "", html, flags=re.S)


def test_a_slide_shows_a_chapters_drawings_and_charts():
    drawn = '<svg role="img" aria-label="A map."><text>“it”</text></svg>'
    table = "<details><table></table><svg><path/></svg></details>"
    html = {"output_type": "display_data", "data": {"text/html": [drawn, table]}}
    assert slides.figure(html) == f'<div class="drawn">{drawn}</div>\n'
    layout = {"meta": {"alt": "Time grows."}}
    bars = {"data": [{"name": "</script>"}], "layout": layout}
    chart = slides.figure({"data": {slides.CHART: bars}})
    assert 'aria-label="Time grows."' in chart
    assert chart.count("</script>") == 1  # what a chart holds cannot end it
    assert slides.figure({"output_type": "stream", "text": "2"}) == ""


def test_predictions_and_figures_stand_below_their_headings():
    drawn = cell("code", "draw()")
    drawn["outputs"] = [{"data": {"text/html": '<svg role="img"></svg>'}}]
    cells = [
        cell("markdown", "# Title\n\nWhy?\n\n**After this chapter you can** not."),
        cell("markdown", "## By hand\n\n> **Predict, then run.** Which?\n\nText."),
        drawn,
        cell("markdown", "## What to remember\n\n1. $x^2$\n\n## Problems"),
        drawn,  # by a solution
    ]
    found = list(slides.shown(cells, keys()["attention"]))
    assert [head for head, _ in found] == ["By hand", "By hand"]
    assert "<strong>Predict.</strong> Which?" in found[0][1]
    assert "Text." not in found[0][1]
    assert slides.opening(cells) == "Why?"
    assert "<msup>" in slides.markdown(slides.take_away(cells))
