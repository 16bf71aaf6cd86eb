"""memory_timeline counts bytes that live, frees them in time, and leaves the learner's model alone."""

import gc
import weakref

import pytest
import torch
from torch import nn

from widgets.memory import LiveBytes, measure, memory_timeline


def blocks(count=8):
    return [nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(count)]


X = torch.ones(128, 16)
ONE = X.nbytes


def test_a_tensor_counts_while_it_lives_and_views_do_not_count_again():
    x = torch.ones(1000)
    with LiveBytes([x]) as mode:
        y = x + 1
        view = y[:10]
        assert mode.live == 4000
        del y
        assert mode.live == 4000
        del view
        gc.collect()
        assert mode.live == 0


def test_without_checkpoints_each_block_keeps_its_output():
    timeline = measure(blocks(), X, 0)
    outputs = 8 * ONE  # of the Tanh; a Linear's output is dropped
    assert outputs <= timeline.at_turn <= outputs + 2 * ONE


@pytest.mark.parametrize("segments", [2, 4, 8])
def test_with_checkpoints_only_the_ends_of_segments_are_kept(segments):
    timeline = measure(blocks(), X, segments)
    assert segments * ONE <= timeline.at_turn <= (segments + 2) * ONE


def test_checkpointing_takes_memory_down_and_operations_up():
    plain, cut = measure(blocks(16), X, 0), measure(blocks(16), X, 4)
    assert cut.peak < plain.peak
    assert cut.steps_back > plain.steps_back


def test_the_model_keeps_its_gradients_and_nothing_stays_alive():
    model = blocks(3)
    for parameter in model[0].parameters():
        parameter.grad = torch.full_like(parameter, 7.0)
    before = [p.detach().clone() for block in model for p in block.parameters()]
    memory_timeline(model, X)
    assert all(p.grad.eq(7).all() for p in model[0].parameters())
    assert all(p.grad is None for block in model[1:] for p in block.parameters())
    after = [p for block in model for p in block.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    alive = weakref.ref(model[0])
    del model, after, parameter
    gc.collect()
    assert alive() is None


def test_the_slider_offers_the_divisors_and_opens_at_the_lowest_peak():
    view = memory_timeline()
    [sweep] = view.exploration.sweeps
    assert [f.place for f in sweep.frames][:3] == ["no checkpoints", "1 segment", "2 segments"]
    assert len(sweep.frames) == 7
    peaks = [max(y for piece in f.curves[0][1].pieces for _, y in piece) for f in sweep.frames]
    assert peaks[view.position] == min(peaks) < peaks[0]
    assert "100 %" in sweep.said(0)
    assert (
        view.stand_in()["text/plain"].splitlines()[1].startswith("  1. 12 blocks, no checkpoints:")
    )


def test_the_learners_random_numbers_stay_as_they_are():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    memory_timeline()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "arguments", [([], X), (blocks(2), None), (blocks(2), X, [3]), (blocks(2), X, [0])]
)
def test_what_cannot_be_is_refused(arguments):
    with pytest.raises(ValueError):
        memory_timeline(*arguments)


def test_every_name_that_widgets_offers_can_be_imported():
    import widgets

    called = set(widgets.__all__) - {"palette", "figures"}
    assert all(callable(getattr(widgets, name)) for name in called)


def test_a_checkpoint_of_ones_own_is_measured_and_what_it_raises_is_said():
    def by_halves(layers, segments, x):
        """Forgets the first half only."""
        half = len(layers) // 2
        x = torch.utils.checkpoint.checkpoint(layers[:half], x, use_reentrant=False)
        return layers[half:](x)

    own, torchs = measure(blocks(), X, 2, by_halves), measure(blocks(), X, 2)
    assert own.at_turn > torchs.at_turn + ONE

    def checkpoint_sequential(layers, segments, x):
        raise NotImplementedError()

    said = str(memory_timeline(blocks(), X, by=checkpoint_sequential))
    assert "checkpoint_sequential is not written yet" in said
    assert "no checkpoints" in said


def test_the_peak_stands_over_the_number_of_segments():
    [sweep] = memory_timeline().exploration.sweeps
    [curve] = sweep.panels[1].curves
    assert [n for n, _ in curve.pieces[0]] == [0, 1, 2, 3, 4, 6, 12]
    for (n, peak), frame in zip(curve.pieces[0], sweep.frames, strict=True):
        [(_, _, across, up)] = [mark for mark in frame.marks if mark[0] == 1]
        assert across == n
        assert up == pytest.approx(peak, abs=0.1)
