"""The list of claims, and how a check's verdict is shown."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
import torch

from tformer_book import claims
from tformer_book.claims import TOPICS, VERDICTS, Unproven, all_claims, table, verdict


class Listed(HTMLParser):
    """The rows, links and buttons of a list."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.links, self.inputs = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "tr" and "data-verdict" in attributes:
            self.rows.append(attributes)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "input":
            self.inputs.append(attributes)


def listed(**choice):
    return Listed(table(**choice).forms["text/html"])


def test_every_claim_is_listed_once_and_leads_to_its_own_section():
    found = listed()
    assert len(found.rows) == len(all_claims())
    assert found.links == [f"#{claim.anchor}" for claim in all_claims()]
    assert len(set(found.links)) == len(found.links)


def test_every_verdict_and_topic_is_declared():
    assert {claim.verdict for claim in all_claims()} == set(VERDICTS)
    assert [claim.topic for claim in all_claims()] == sorted(
        (claim.topic for claim in all_claims()), key=TOPICS.index
    )


def test_there_is_a_button_for_every_verdict_and_topic_and_a_rule_for_each():
    style = table().forms["text/html"].partition("</style>")[0]
    values = [each["value"] for each in listed().inputs if each["type"] == "radio"]
    assert values == ["", *VERDICTS, "", *(str(i) for i in range(len(TOPICS)))]
    for value in filter(None, values):
        assert re.search(rf'\[value="{value}"\]:checked\)', style)


def test_the_list_can_be_filtered_in_python():
    masks = listed(text="Mask", verdict="wrong").rows
    assert 3 < len(masks) < len(listed(text="mask").rows) < len(all_claims())
    assert {row["data-verdict"] for row in masks} == {"wrong"}
    position = listed(topic="Position").rows
    assert {row["data-topic"] for row in position} == {"0"}
    assert listed(text="nobody says this").rows == []


def test_the_list_needs_no_script():
    html = table().forms["text/html"]
    assert "<script" not in html and " on" not in re.findall(r"<input[^>]*>", html)[0]


def test_a_verdict_shows_what_was_found_and_what_would_make_it_fail():
    shows = verdict(12, "wrong")
    shows(torch.tensor(True), "a < b & c")
    forms = shows(True, "second")._repr_mimebundle_()
    assert "Claim 12: wrong." in forms["text/html"]
    assert "a &lt; b &amp; c" in forms["text/html"]
    assert f"The check fails if {all_claims()[11].fails_if}" in forms["text/html"]
    assert forms["text/plain"].splitlines()[1:] == ["- a < b & c", "- second"]


@pytest.mark.parametrize("missing", [False, torch.tensor(False), 0])
def test_a_verdict_without_its_evidence_is_refused(missing):
    shows = verdict(12, "wrong")
    with pytest.raises(Unproven, match="claim 12: .*'wrong' is missing.*: it leaks"):
        shows(missing, "it leaks")
    assert issubclass(Unproven, AssertionError)


def test_a_verdict_must_be_the_declared_one():
    with pytest.raises(ValueError, match="claim 12 is declared 'wrong', not 'right'"):
        verdict(12, "right")
    with pytest.raises(ValueError, match="there is no claim 61: 1 to 60"):
        verdict(61, "right")


def test_an_anchor_is_plain_and_begins_with_a_letter():
    for claim in claims.all_claims():
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", claim.anchor)
