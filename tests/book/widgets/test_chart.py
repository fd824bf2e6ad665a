"""Scales, axes, curves and dragging that the figures' charts share."""

import pytest

# What a template draws, as text; and a pointer over a drawing of 100 by 50 pixels.
HELPERS = """
  const markup = (x) =>
    x?.strings ? x.strings.map((s, i) => s + (i in x.values ? markup(x.values[i]) : ""))
      .join("") : Array.isArray(x) ? x.map(markup).join("") : String(x);
  const box = { left: 10, top: 20, width: 100, height: 50 };
  const heard = {};
  const handle = {
    ownerSVGElement: { getBoundingClientRect: () => box },
    setPointerCapture() {},
    addEventListener: (name, f) => { heard[name] = f; },
    removeEventListener: (name) => { delete heard[name]; },
  };
  const press = (listener, clientX, clientY) => listener(
    { currentTarget: handle, preventDefault() {}, pointerId: 1, clientX, clientY });
"""
PLOT = """
  const sizes = { width: 400, height: 200, left: 40, right: 10, top: 20, bottom: 30 };
  const plot = m.plotOf(sizes, m.linear(0, 70), m.linear(0, 5));
"""


@pytest.fixture(scope="module")
def charts(node):
    def run(script):
        head = 'import * as m from "./kit/chart.js";' + HELPERS + PLOT
        return node(f"{head} console.log(JSON.stringify({script}))")

    return run


def test_the_ends_of_the_scales_are_the_corners_of_the_plot(charts):
    corners = "[plot.x(0), plot.y(0), plot.x(70), plot.y(5), plot.x.invert(plot.x(12))]"
    assert charts(corners) == [40, 170, 390, 20, 12]


def test_a_logarithmic_scale_gives_each_decade_the_same_room(charts):
    decades = charts(
        "(() => { const { x } = m.plotOf({ width: 90, height: 9 }, m.log(1, 1000),"
        " m.linear(0, 1)); return [1, 10, 100, 1000].map((n) => x(n)) })()"
    )
    assert decades == pytest.approx([0, 30, 60, 90])


def test_a_curve_goes_through_its_points_and_an_empty_one_is_nothing(charts):
    points = "[[0, 0], [35, 2.5], [70, 5]]"
    found = charts(
        f"[m.pathOf(plot, {points}), m.pointsOf(plot, {points}),"
        " m.pathOf(plot, []), m.pointsOf(plot, [])]"
    )
    assert found == ["M40,170L215,95L390,20", "40,170 215,95 390,20", None, ""]


def test_an_axis_has_a_number_for_each_tick_where_its_value_is(charts):
    left, bottom = charts(
        "[markup(m.leftAxis(plot, plot.y.ticks(5), { title: 'loss' })),"
        " markup(m.bottomAxis(plot, [0, 70], { text: (x) => `${x} k`,"
        " title: 'step' }))]"
    )
    assert left.count("<line") == 6
    assert "y1=95 y2=95" not in left and "y1=140 y2=140" in left
    assert all(f">{n}</text>" in left for n in (*range(6), "loss"))
    assert "<line" not in bottom
    assert "<text x=390 y=190 text-anchor=middle>70 k</text>" in bottom
    assert ">step</text>" in bottom


def test_an_axis_ends_at_a_round_number_that_is_no_less(charts):
    given = [0.3, 1, 1.0000000001, 3.2, 180, 2010, 0.0007, 0, -1]
    found = charts(f"{given}.map(m.roundUp)")
    assert found == pytest.approx([0.5, 1, 1, 5, 200, 5000, 0.001, 1, 1])


def test_a_handle_hears_the_pointer_in_numbers_of_the_plot_until_it_is_let_go(charts):
    found = charts("""(() => {
      const moved = [];
      press(m.dragIn(plot, (x, y) => moved.push([x, y])), 0, 0);
      heard.pointermove({ clientX: 63.75, clientY: 43.75 });
      heard.pointermove({ clientX: 500, clientY: 500 });
      heard.pointerup();
      return [moved, Object.keys(heard)];
    })()""")
    moved, left = found
    assert moved == [pytest.approx([35, 2.5]), [70, 0]]
    assert left == []


def test_a_press_on_the_ground_counts_at_once_if_wanted(charts):
    assert charts("""(() => {
      const moved = [];
      press(m.dragIn(plot, (x) => moved.push(x), { atOnce: true }), 63.75, 43.75);
      return moved;
    })()""") == [pytest.approx(35)]
