"""Which device checks can run on: the CPU always, a GPU where there is one that really computes."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

import torch

NO_GPU_NEEDED = "The course needs no GPU."


@dataclass(frozen=True)
class Device:
    """What was found.

    names     the devices checks run on, in torch's words
    sentence  the same for a person
    advice    what to do about a GPU that cannot be used; "" where there is nothing to do
    """

    names: tuple[str, ...]
    sentence: str
    advice: str = ""


def find_device() -> Device:
    """Try what is there; never raises for a GPU that does not work."""
    cores = os.cpu_count() or 1
    cpu = f"Checks run on the CPU ({cores} {'core' if cores == 1 else 'cores'}"
    if torch.cuda.is_available():
        problem = cuda_problem()
        if not problem:
            name = torch.cuda.get_device_name()
            return Device(("cpu", "cuda"), f"{cpu}) and on the GPU ({name}).")
        advice = f"The GPU cannot be used: {problem} Its driver may be too old for this torch."
        return Device(("cpu",), f"{cpu}).", f"{advice} {NO_GPU_NEEDED}")
    if torch.backends.mps.is_available():
        return Device(("cpu",), f"{cpu}); an Apple GPU is not used: it has no float64.")
    if shutil.which("nvidia-smi") and torch.version.cuda is None:
        advice = "There seems to be an NVIDIA GPU, but this torch is built for the CPU only."
        return Device(("cpu",), f"{cpu}).", f"{advice} {NO_GPU_NEEDED}")
    return Device(("cpu",), f"{cpu}). {NO_GPU_NEEDED}")


def cuda_problem() -> str:
    """What happens when the GPU is asked to compute: "" if it does, else the first line of why."""
    try:
        doubled = torch.ones(2, device="cuda") * 2
        return "" if doubled.tolist() == [2.0, 2.0] else "it computed 1 × 2 wrongly."
    except RuntimeError as error:
        return str(error).partition("\n")[0].rstrip(".") + "."
