"""How many bits a second two sandboxed bots pass each other by what the sandbox cannot refuse.

``python tests/benchmarks/channels.py`` prints a table and, last, one line of JSON. A sender and a
receiver, started as bots are, agree on slots of wall time. In each slot the sender does something
or not; the receiver tells what it noticed. A channel carries ``rate * (1 - H(errors))`` bits a
second, with the entropy H of the share of slots that were read wrongly.

- ``cores``: the sender burns every core; the receiver counts how often its own loop goes round.
- ``wake``: a thread of the sender ends, and the kernel wakes who waits on the same page of a file
  that both may read. Both calls are what every program's threads are made of.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import tempfile
import time
from pathlib import Path
from statistics import median

from referee.sandbox.bubblewrap import BubblewrapSandbox
from referee.sandbox.process import BotProcess
from referee.sandbox.sandbox import BotCommand

SLOTS = {"cores": (0.005, 0.01, 0.02, 0.05), "wake": (0.001, 0.002, 0.005, 0.01)}
SECONDS = 3.0
"""Of each measurement, so that no bot uses up its processor time."""

_SCRIPT = """
import ctypes, os, random, sys, threading, time

role, channel, start, slot, count = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
bits = random.Random(1).choices((0, 1), k=int(count))
libc = ctypes.CDLL(None, use_errno=True)
set_tid_address, futex = (218, 202) if os.uname().machine == "x86_64" else (96, 98)
file = os.open(os.path.realpath("/usr/bin/env"), os.O_RDONLY)
libc.mmap.restype = ctypes.c_void_p
page = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, file, ctypes.c_long(0))
value = ctypes.c_int.from_address(page).value

def until(at):
    while (left := at - time.time()) > 0:
        time.sleep(left if left > 0.002 else 0)

def end_thread():
    libc.syscall(set_tid_address, ctypes.c_void_p(page))

def send_cores():
    for _ in range(os.cpu_count()):
        if os.fork() == 0:
            for number, bit in enumerate(bits):
                until(start + number * slot)
                while bit and time.time() < start + (number + 1) * slot:
                    pass
            os._exit(0)

def send_wake():
    for number, bit in enumerate(bits):
        until(start + (number + 0.3) * slot)
        if bit:
            threading.Thread(target=end_thread).start()

def receive_cores():
    until(start)
    for number in range(len(bits)):
        rounds = 0
        while time.time() < start + (number + 1) * slot:
            rounds += 1
        yield rounds

def receive_wake():
    class Span(ctypes.Structure):
        _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
    for number in range(len(bits)):
        woken = 0
        while (left := start + (number + 1) * slot - time.time()) > 0:
            span = Span(0, int(left * 1e9))
            if libc.syscall(futex, ctypes.c_void_p(page), 0, value, ctypes.byref(span), 0, 0) == 0:
                woken = 1
        yield woken

if role == "send":
    globals()["send_" + channel]()
    until(start + len(bits) * slot + 0.5)
else:
    print(*globals()["receive_" + channel]())
"""


async def capacity(sandbox: BubblewrapSandbox, folder: Path, channel: str, slot: float) -> float:
    """Return the bits a second of a channel with slots of so many seconds."""
    count = int(SECONDS / slot)
    start = time.time() + 1.0
    words = ("python", "bot.py")
    told = (channel, f"{start}", f"{slot}", f"{count}")
    processes = [
        BotProcess(BotCommand((*words, role, *told), folder), sandbox, exited=lambda _: None)
        for role in ("send", "receive")
    ]
    for process in processes:
        await process.wait(SECONDS + 10)
        await process.stop()
    values = [int(word) for word in processes[1].stdout.ring.text().split()]
    errors = processes[1].stderr.ring.text()
    if len(values) != count:
        raise RuntimeError(f"{len(values)} of {count} slots: {errors}")
    return rate(values, count, slot)


def rate(values: list[int], count: int, slot: float) -> float:
    """Return the bits a second that a receiver's values hold of the sender's bits."""
    bits = random.Random(1).choices((0, 1), k=count)
    # Other work comes and goes: each slot is compared with its neighbours.
    around = [values[max(0, place - 8) : place + 9] for place in range(count)]
    read = [int(value > 0.9 * median(near)) for value, near in zip(values, around, strict=True)]
    wrong = sum(one != other for one, other in zip(bits, read, strict=True)) / count
    if wrong in {0.0, 1.0}:
        return 1 / slot
    entropy = -wrong * math.log2(wrong) - (1 - wrong) * math.log2(1 - wrong)
    return (1 - entropy) / slot


async def main() -> None:
    """Measure each channel with each length of its slots."""
    sandbox = BubblewrapSandbox()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # noqa: ASYNC240 -- nothing else runs here
        (folder / "bot.py").write_text(_SCRIPT)
        for channel, slots in SLOTS.items():
            rates = {slot: await capacity(sandbox, folder, channel, slot) for slot in slots}
            for slot, bits in rates.items():
                print(f"{channel:8} slots of {slot * 1e3:5.1f} ms  {bits:8.1f} bits/s")
            found[channel] = round(max(rates.values()), 1)
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
