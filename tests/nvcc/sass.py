"""Reads a cubin's machine code and finds what must not stand between the matrix products.

No disassembler is needed: an sm_90 instruction has 16 bytes, and the low 12 bits of its first
little-endian word are the operation (bits 0 to 8) and the form of its operands (bits 9 to 11). The
opcodes below were found once with nvdisasm 13.1, by disassembling what nvcc 13.0 had compiled. Of
the eight forms of R2UR and WARPSYNC it knows no others for sm_90.

What is forbidden:
- R2UR, which moves a register to a uniform one: the compiler keeps an operand's descriptor, or what
  it computes beside, where the tensor cores cannot read it, and the next wgmma waits for the move.
- WARPSYNC, which gathers a warp that the compiler believes to be apart.

Where: in the main loop. That is an innermost natural loop of the control flow that holds an HGMMA,
and all of it counts, whether it stands between two HGMMA of a product or not: the loop's end runs
into its beginning, so that everything in it lies between two wgmma. Blocks that the compiler put
out of line (waiting for a barrier) belong to the loop, subroutines (a square root's slow path) do
not. A tile's first and last block stand outside: they are met once a tile.
"""

import struct
from typing import NamedTuple

INSTRUCTION_BYTES = 16
HGMMA = {0x9F0, 0xDF0}  # A in shared memory, A in registers
BRANCH = {0x947}
EXIT = {0x94D}
RETURN = {0x950}  # from a subroutine, which CALL (0x944) enters: a call goes on behind itself here
INDIRECT = {0x949, 0x94A, 0x94C}  # BRX, JMP, JMX
FORBIDDEN = {0x2CA: "R2UR", 0x348: "WARPSYNC", 0x948: "WARPSYNC.ALL"}
ALWAYS = 7  # the predicate PT


class Instruction(NamedTuple):
    address: int
    low: int
    high: int

    @property
    def opcode(self):
        return self.low & 0xFFF

    def target(self):
        """Of a branch: bits 16-23 and from 34 on hold the distance from its end, in words of 4."""
        words = (self.low >> 34) << 8 | (self.low >> 16 & 0xFF)
        if self.low >> 63:
            words -= 1 << 38
        return self.address + INSTRUCTION_BYTES + 4 * words

    def is_conditional(self):
        """By its guard, or by the branch's own condition (bits 87-91: a predicate, or .DIV)."""
        guard = self.low >> 12 & 0xF
        condition = self.high >> 23 & 0x1F if self.opcode in BRANCH else ALWAYS
        return guard != ALWAYS or condition != ALWAYS


def code_sections(cubin):
    """(name, bytes) of each .text section of a 64-bit little-endian ELF."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit little-endian ELF")
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names_index = struct.unpack_from("<HHH", cubin, 58)
    # name, type, flags, address, offset, size
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    names = headers[names_index][4]
    for name, _, _, _, offset, length in headers:
        text = cubin[names + name:cubin.index(b"\0", names + name)].decode()
        if text.startswith(".text."):
            yield text.removeprefix(".text."), cubin[offset:offset + length]


def decode(code):
    return [Instruction(i * INSTRUCTION_BYTES, low, high)
            for i, (low, high) in enumerate(struct.iter_unpack("<QQ", code))]


def successors(code):
    """Of each instruction, the indices of those that may follow it."""
    result = []
    for i, one in enumerate(code):
        if one.opcode in INDIRECT:
            raise ValueError(f"indirect branch {one.opcode:#x} at {one.address:#06x}")
        follows = []
        if one.opcode in BRANCH:
            follows.append(one.target() // INSTRUCTION_BYTES)
        if one.opcode not in BRANCH | EXIT | RETURN or one.is_conditional():
            follows.append(i + 1)
        result.append([j for j in follows if j < len(code)])
    return result


def postorder(follows):
    order, seen, stack = [], {0}, [(0, iter(follows[0]))]
    while stack:
        node, rest = stack[-1]
        fresh = next((j for j in rest if j not in seen), None)
        if fresh is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(follows[fresh])))
    return order


def predecessors(follows, reachable):
    result = {i: [] for i in reachable}
    for i in reachable:
        for j in follows[i]:
            result[j].append(i)
    return result


def immediate_dominators(order, before):
    """Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"."""
    rank = {node: i for i, node in enumerate(order)}
    above = {0: 0}

    def meet(a, b):
        while a != b:
            if rank[a] < rank[b]:
                a = above[a]
            else:
                b = above[b]
        return a

    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            known = [p for p in before[node] if p in above]
            best = known[0]
            for other in known[1:]:
                best = meet(best, other)
            if above.get(node) != best:
                above[node] = best
                changed = True
    return above


def loops(code):
    """The natural loops, as sets of indices: one for each head, whatever the number of its ends."""
    follows = successors(code)
    order = postorder(follows)
    before = predecessors(follows, order)
    above = immediate_dominators(order, before)

    def dominates(a, b):
        while b not in (a, 0):
            b = above[b]
        return a == b

    bodies = {}
    for end in order:
        for head in follows[end]:
            if not dominates(head, end):
                continue
            body = bodies.setdefault(head, {head})
            stack = [end]
            while stack:
                node = stack.pop()
                if node not in body:
                    body.add(node)
                    stack += before[node]
    return list(bodies.values())


def main_loops(code):
    holding = [body for body in loops(code) if any(code[i].opcode in HGMMA for i in body)]
    return [body for body in holding if not any(other < body for other in holding)]


class Reading(NamedTuple):
    """What the main loops of a cubin's kernels hold."""

    loops: int
    products: int  # HGMMA instructions in them
    faults: list  # texts: instruction, address, kernel


def read(cubin):
    """Raises ValueError if this is no cubin or jumps in ways that are not understood."""
    found, count, faults = 0, 0, []
    for name, section in code_sections(cubin):
        code = decode(section)
        bodies = main_loops(code)
        inside = [code[i] for i in sorted(set().union(*bodies))]
        found += len(bodies)
        count += sum(one.opcode in HGMMA for one in inside)
        faults += [f"{FORBIDDEN[one.opcode]} at {one.address:#06x} in the main loop of {name}"
                   for one in inside if one.opcode in FORBIDDEN]
    return Reading(found, count, faults)
