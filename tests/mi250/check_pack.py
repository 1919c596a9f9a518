"""Weights of forms that are no exponentials, as bf16: rounded, and a NaN stays one.

usage: check_pack.py <gfx90a_run>
"""

import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from mi250 import toolchain  # noqa: E402

# Bits of a float and of its bf16: numbers, halfway cases, what overflows, infinities.
ROUNDED = {0x00000000: 0x0000, 0x80000000: 0x8000, 0x3F800000: 0x3F80, 0x3F807FFF: 0x3F80,
           0x3F808000: 0x3F81, 0xBF808000: 0xBF81, 0xBF817FFF: 0xBF81, 0x3FFFFFFF: 0x4000,
           0x7F7FFFFF: 0x7F80, 0xFF7FFFFF: 0xFF80, 0x7F800000: 0x7F80, 0xFF800000: 0xFF80}
NANS = [0x7FC00000, 0x7FFF7FFF, 0x7FFF8000, 0x7FFFFFFF, 0xFFC00000, 0xFFFF7FFF, 0xFFFF8000, 0xFFFFFFFF]


def packed(run, folder, words):
    toolchain.compile_device(Path(__file__).with_name("pack.hip"), folder / "pack.co")
    (folder / "in").write_bytes(struct.pack(f"{len(words)}I", *words))
    pairs = len(words) // 2
    subprocess.run([run, "pack.co", "--block", str(pairs), "--quiet", "--arg", "in:in", "--arg",
                    f"out:out:{4 * pairs}"], cwd=folder, check=True)
    return struct.unpack(f"{2 * pairs}H", (folder / "out").read_bytes())


def is_nan(half):
    return math.isnan(struct.unpack("f", struct.pack("HH", 0, half))[0])


def main():
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return
    words = [*ROUNDED, *NANS]
    with tempfile.TemporaryDirectory() as folder:
        halves = packed(Path(sys.argv[1]).resolve(), Path(folder), words)
    wrong = [f"{word:#010x} became {half:#06x}" for word, half in zip(words, halves)
             if (half != ROUNDED[word] if word in ROUNDED else not is_nan(half))]
    print("\n".join(wrong) or f"{len(words)} weights")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
