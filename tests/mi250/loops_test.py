"""What scripts/mi250/loops.py finds in machine code written here."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "hold")]
from check_kernel import faults_of_rounds  # noqa: E402
from mi250 import loops  # noqa: E402

MATRIX = "v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]"


def code_of(*lines):
    """Each an instruction, or one with the index of the instruction that it branches to."""
    pairs = [(line, None) if isinstance(line, str) else line for line in lines]
    return [(4 * i, text, None if to is None else 4 * to) for i, (text, to) in enumerate(pairs)]


class Loops(unittest.TestCase):
    def test_rounds_are_the_ways_with_the_most_products(self):
        code = code_of("s_nop 0", MATRIX, ("s_cbranch_scc0 1", 4), "v_nop", MATRIX,
                       ("s_cbranch_scc1 1", 1), "s_endpgm")
        self.assertEqual(sorted(map(len, loops.rounds(code))), [4, 5])

    def test_code_without_a_loop(self):
        self.assertRaisesRegex(loops.NoLoop, "no loop", loops.rounds, code_of(MATRIX, "s_endpgm"))

    def test_a_loop_whose_way_back_leads_out_of_it(self):
        code = code_of(MATRIX, ("s_branch 2", 4), ("s_cbranch_scc1 -3", 0), "s_endpgm",
                       "v_nop", ("s_branch -4", 2))
        self.assertRaisesRegex(loops.NoLoop, "leads out", loops.rounds, code)


class Faults(unittest.TestCase):
    def faults(self, *lines):
        shape = {"q": "[batch, seq_q, heads_q, 16]", "v": "[batch, seq_kv, heads_kv, 32]",
                 "heads_q": "must be 2", "heads_kv": "must be 2"}
        fields = [{"name": name, "meaning": meaning} for name, meaning in shape.items()]
        manifest = {"passes": [{"args": {"fields": fields}}]}
        return list(faults_of_rounds(manifest, {"schedule": {"tile_kv": 32}}, code_of(*lines)))

    def test_a_round_has_the_tile_s_products(self):
        loop = [("s_cbranch_scc1 1", 0), "s_endpgm"]
        self.assertEqual(self.faults(*[MATRIX] * 6, *loop), [])
        self.assertEqual(self.faults(MATRIX, *loop),
                         ["1 matrix instructions a round, the tile has 6"])

    def test_code_without_a_loop_is_a_fault(self):
        self.assertEqual(self.faults(MATRIX, "s_endpgm"), ["no loop with matrix instructions"])


if __name__ == "__main__":
    unittest.main()
