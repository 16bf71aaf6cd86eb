"""The map of the course: a path with a station for each lesson, as far as the learner has come."""

import html
import itertools

from autograder.exercises import lesson_exercises
from autograder.learner.progress import BEGUN, COMPLETE, TO_DO, load, state_of
from widgets.figure import palette, show_drawing

# Lesson → its title, and what one can do after it.
STATIONS = {
    "01_template": ("Anatomy of a Function", "you write a backward, and prove that it is right"),
    "02_sigmoid": ("Save the output", "your gradients survive ±1000, and keep half the memory"),
    "03_linear": (
        "One gradient per input",
        "you read handwriting with nothing but your own gradients",
    ),
    "04_ste": ("Gradients that are no derivatives", "you train weights of one bit, and of eight"),
    "05_double_backward": (
        "Gradients of gradients",
        "you train against a gradient that is too steep",
    ),
    "06_checkpointing": (
        "Compute for memory",
        "you train a deep network in a fraction of its memory",
    ),
    "07_attention": ("Attention", "you write FlashAttention, forward and backward"),
    "08_patterns": ("Derivatives of other shapes", "you learn an order from ruined numbers"),
    "09_layers": (
        "Layers from inside",
        "you train a convolutional network of your own layers",
    ),
    "10_debugging": ("The clinic", "you find what is wrong in somebody else's backward"),
    "11_outside_torch": (
        "What torch cannot differentiate",
        "you train a layer as deep as you like, which keeps one tensor",
    ),
    "12_modern": ("In the real stack", "your kernel is the attention of a compiled model"),
}
STEP, WIDTH, SWING = 84, 760, 26  # pixels between stations, of the drawing, from side to side
MARKS = {COMPLETE: "✓", BEGUN: "…", TO_DO: ""}


def course_map() -> None:
    """Draw the way through the course, what one can do after each lesson, and where you are."""
    states = {lesson: state_of_lesson(lesson) for lesson in STATIONS}
    done = sum(state == COMPLETE for state in states.values())
    told = "; ".join(
        f"{lesson[:2]} {title} ({states[lesson].lower()}): {words}"
        for lesson, (title, words) in STATIONS.items()
    )
    show_drawing(
        drawing(states),
        f"The way through the course, {done} of {len(STATIONS)} lessons done. {told}.",
        WIDTH,
    )


def state_of_lesson(lesson: str) -> str:
    """Complete where every exercise is; begun where one is, or some of its promises are kept."""
    progress = load()
    states = {state_of(exercise.name, progress) for exercise in lesson_exercises(lesson)}
    if states == {COMPLETE}:
        return COMPLETE
    return TO_DO if states == {TO_DO} else BEGUN


def drawing(states: dict[str, str]) -> str:
    """The map as SVG. states: lesson → Complete, Begun or To do; the first that is open is "you"."""
    places = [(70 + SWING * (-1) ** i, 46 + STEP * i) for i in range(len(states))]
    here = next((lesson for lesson, state in states.items() if state != COMPLETE), None)
    road = f"M{places[0][0]} {places[0][1]}" + "".join(
        f"C{x0} {y0 + 0.55 * STEP} {x1} {y1 - 0.55 * STEP} {x1} {y1}"
        for (x0, y0), (x1, y1) in itertools.pairwise(places)
    )
    stations = "".join(
        _station(lesson, state, place, lesson == here)
        for (lesson, state), place in zip(states.items(), places, strict=True)
    )
    height = places[-1][1] + 46
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif">'
        f'<path d="{road}" fill="none" stroke="#ddd" stroke-width="16" stroke-linecap="round"/>'
        f'<path d="{road}" fill="none" stroke="#777" stroke-width="2" stroke-dasharray="7 7"/>'
        f"{stations}</svg>"
    )


def _station(lesson: str, state: str, place: tuple[float, float], here: bool) -> str:
    x, y = place
    title, words = map(html.escape, STATIONS[lesson])
    done = state == COMPLETE
    fill, ink = (palette.blue, "#fff") if done else ("#fff", "#000")
    edge = palette.vermillion if here else palette.blue
    mark = f"{lesson[:2]}{MARKS[state]}"
    flag = (
        f'<text x="150" y="{y + 34}" font-size="14" fill="#b34a00">← you are here</text>'
        if here
        else ""
    )
    return (
        f'<circle cx="{x}" cy="{y}" r="25" fill="{fill}" stroke="{edge}" stroke-width="{5 if here else 3}"/>'
        f'<text x="{x}" y="{y + 6}" text-anchor="middle" font-size="16" font-weight="bold" fill="{ink}">{mark}</text>'
        f'<text x="150" y="{y - 4}" font-size="18" font-weight="bold">{title}</text>'
        f'<text x="150" y="{y + 17}" font-size="15">Then {words}.</text>{flag}'
    )
