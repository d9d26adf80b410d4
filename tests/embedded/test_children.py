import subprocess
import sys
import time

from app.embedded.children import end_leftover, started_at, wait_gone

SLEEP = [sys.executable, "-c", "import signal; signal.pause()"]


def test_a_process_is_known_by_its_number_and_its_start():
    first, second = subprocess.Popen(SLEEP), subprocess.Popen(SLEEP)
    try:
        assert started_at(first.pid) == started_at(first.pid) is not None
    finally:
        for process in (first, second):
            process.kill()
            process.wait()
    assert started_at(first.pid) is None


def test_a_leftover_is_ended_only_if_it_is_the_one_that_was_noted():
    process = subprocess.Popen(SLEEP)
    started = started_at(process.pid)
    assert not end_leftover(process.pid, "another moment")
    assert process.poll() is None
    assert end_leftover(process.pid, started)
    assert process.wait() == -9
    assert not end_leftover(process.pid, started)


def test_waiting_for_a_process_that_stays_ends():
    process = subprocess.Popen(SLEEP)
    try:
        began = time.monotonic()
        assert not wait_gone(process.pid, started_at(process.pid), 0.05)
        assert time.monotonic() - began >= 0.05
    finally:
        process.kill()
        process.wait()


def test_a_child_whose_parent_is_gone_before_it_is_tied_ends_at_once():
    code = (
        "import os, sys; from app.embedded.children import tied\n"
        "tie = tied()\n"
        "if os.fork():\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "elif os.fork():\n"
        "    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "else:\n"
        "    tie(); os._exit(0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "1"
