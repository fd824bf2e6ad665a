"""Material for a class, made from the chapters: handouts, autograder, answers, slides.

Usage: ``make course``, or ``python -m tformer_book.course --out FOLDER``.

- `sessions.toml` declares the six sessions: `sessions` reads it for this room, and
  `page` for the page *For teachers*;
- `problems` finds the problems of a chapter by reading its notebook: what is asked,
  what a grader checks, and what gives it away;
- `handouts` writes the notebooks that a class gets, and those with answers;
- `otter` writes the tests of an autograder in Otter's format;
- `slides` makes one page to show for each session;
- `trial` grades a notebook of right and wrong answers with Otter itself.
"""
