"""The reader of machine code finds what it looks for: it is given a kernel that is known to be bad.

Without the shuffle of `uniform` the compiler does not know that a warp has one warpgroup number. It
moves every descriptor to uniform registers by R2UR, and gathers the warp before its shuffles.

usage: sass_test.py <nvcc> <kernel>.cu
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import sass

SHUFFLE = "return __shfl_sync(0xffffffffu, x, 0);"
FAULT = re.compile(r"^(\S+) at (0x[0-9a-f]{4,}) in the main loop of \S*forward_kernel\S*$")
NOP = 0x0000000000007918


def compile_cubin(nvcc, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "bad.cu"
        source.write_text(text)
        cubin = pathlib.Path(folder) / "bad.cubin"
        subprocess.run([nvcc, "-std=c++17", "-O3", "-gencode", "arch=compute_90a,code=sm_90a",
                        "-cubin", source, "-o", cubin], check=True)
        return cubin.read_bytes()


def without(cubin, opcodes):
    """The cubin with NOP in the place of these instructions."""
    words = bytearray(cubin)
    for _, section in sass.code_sections(cubin):
        begin = cubin.index(section)
        for one in sass.decode(section):
            if one.opcode in opcodes:
                struct.pack_into("<Q", words, begin + one.address, NOP)
    return bytes(words)


def found(cubin):
    """[(instruction, address)]"""
    return [FAULT.match(text).groups() for text in sass.read(cubin).faults]


class Sass(unittest.TestCase):
    nvcc, kernel = "", ""

    @classmethod
    def setUpClass(cls):
        text = pathlib.Path(cls.kernel).read_text()
        assert text.count(SHUFFLE) == 1, "the kernel has no uniform()"
        cls.bad = compile_cubin(cls.nvcc, text.replace(SHUFFLE, "return x;"))

    def test_names_each_instruction_and_its_address(self):
        faults = found(self.bad)
        self.assertEqual({name for name, _ in faults}, {"R2UR", "WARPSYNC", "WARPSYNC.ALL"})
        (section,) = [section for name, section in sass.code_sections(self.bad)
                      if "forward_kernel" in name]
        code = sass.decode(section)
        for name, address in faults:
            opcode = code[int(address, 16) // sass.INSTRUCTION_BYTES].opcode
            self.assertEqual(sass.FORBIDDEN[opcode], name)

    def test_each_descriptor_is_moved_in_two_words(self):
        moves = [address for name, address in found(self.bad) if name == "R2UR"]
        self.assertGreaterEqual(len(moves), 2 * sass.read(self.bad).products)

    def test_finds_nothing_else(self):
        reading = sass.read(without(self.bad, sass.FORBIDDEN))
        self.assertEqual(reading.faults, [])
        self.assertEqual(reading, sass.read(self.bad)._replace(faults=[]))

    def test_branches(self):
        """As nvdisasm printed them."""
        forward = sass.Instruction(0x0370, 0x0000007C00208947, 0x000FEA0003800000)  # @!P0 BRA 0x8000
        self.assertEqual((forward.target(), forward.is_conditional()), (0x8000, True))
        back = sass.Instruction(0x97F0, 0xFFFFFF74008C7947, 0x000FEA000383FFFF)  # BRA 0xe30
        self.assertEqual((back.target(), back.is_conditional()), (0x0E30, False))
        apart = sass.Instruction(0x6130, 0x0000004A06447947, 0x000FEC000B800000)  # BRA.DIV UR6
        second = sass.Instruction(0x11E0, 0x0000000C00687947, 0x002FEA0000800000)  # BRA P1
        self.assertTrue(apart.is_conditional() and second.is_conditional())

    def test_no_cubin(self):
        with self.assertRaisesRegex(ValueError, "no 64-bit little-endian ELF"):
            sass.read(b"int main() {}")


if __name__ == "__main__":
    Sass.nvcc, Sass.kernel = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
