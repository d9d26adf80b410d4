"""What the rehearsal ran on, so that a figure can be compared with another one's."""

import os
import platform
import sys
from contextlib import suppress
from pathlib import Path


def described(*, web: int, shop_runs: bool, load: float | None) -> dict:
    """`load`: when it began -> plain values: processors, memory, system, Python, parts; whether the shop itself ran beside it."""
    return {
        "processors": os.cpu_count() or 1,
        "processor": _first(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "memory_bytes": _memory_bytes(),
        "system": _first(Path("/etc/os-release"), "PRETTY_NAME", "=").strip('"') or platform.platform(terse=True),
        "kernel": platform.release(),
        "python": sys.version.split()[0],
        "parts": {"web": web, "worker": 1, "recorder": 1},
        "shop_ran_beside_it": shop_runs,
        "load_before": load,  # 1 minute's average when it began: what other programs were doing
    }


def _first(path: Path, name: str, separator: str = ":") -> str:
    with suppress(OSError):
        for line in path.read_text().splitlines():
            key, found, value = line.partition(separator)
            if found and key.strip() == name:
                return value.strip()
    return ""


def _memory_bytes() -> int | None:
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def load_average() -> float | None:
    with suppress(OSError, AttributeError):
        return round(os.getloadavg()[0], 2)
    return None
