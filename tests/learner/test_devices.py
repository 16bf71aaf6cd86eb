"""Which device checks run on: only one that was seen to compute."""

import shutil

import pytest
import torch

from autograder.learner import environment
from autograder.learner.environment import cuda_problem, find_device


@pytest.fixture(autouse=True)
def no_gpu_of_any_kind(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("os.cpu_count", lambda: 4)


def test_without_a_gpu_checks_run_on_the_cpu_and_that_is_fine():
    found = find_device()
    assert found.names == ("cpu",)
    assert found.sentence == "Checks run on the CPU (4 cores). The course needs no GPU."
    assert found.advice == ""


def test_a_gpu_that_computes_is_used_too(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100")
    monkeypatch.setattr(environment, "cuda_problem", lambda: "")
    found = find_device()
    assert found.names == ("cpu", "cuda")
    assert "and on the GPU (NVIDIA H100)" in found.sentence
    assert found.advice == ""


def test_a_gpu_that_does_not_compute_is_left_alone_and_the_reason_given(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(environment, "cuda_problem", lambda: "CUDA driver version is insufficient.")
    found = find_device()
    assert found.names == ("cpu",)
    assert "CUDA driver version is insufficient." in found.advice


def test_an_nvidia_gpu_under_a_cpu_build_is_mentioned(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "built for the CPU only" in find_device().advice


def test_an_apple_gpu_is_not_used_and_the_reason_given(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    found = find_device()
    assert (found.names, found.advice) == (("cpu",), "")
    assert "float64" in found.sentence


def test_of_a_long_cuda_error_the_first_line_is_given(monkeypatch):
    def broken(*shape, device):
        raise RuntimeError("CUDA error: no kernel image is available\nCUDA kernel errors might …")

    monkeypatch.setattr(torch, "ones", broken)
    assert cuda_problem() == "CUDA error: no kernel image is available."


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda._is_compiled(), reason="this torch is a CPU build")
def test_a_real_gpu_is_found(monkeypatch):
    monkeypatch.undo()
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    assert cuda_problem() == ""
    assert find_device().names == ("cpu", "cuda")
