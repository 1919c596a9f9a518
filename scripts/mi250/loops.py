"""The main loop of a compiled kernel: its paths, and the issue slots that they take."""

import re
import subprocess

MATRIX_SLOTS = 16  # that a 32x32x8 matrix instruction keeps its unit busy
SPECIAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
SPECIAL_SLOTS = 4  # quarter rate; llvm-mca charges 1


class NoLoop(Exception):
    pass


def successors(code, index, at):
    """Indices that may follow instruction `index`; `at` maps addresses to indices."""
    _, text, target = code[index]
    name = text.split()[0]
    after = [] if name in ("s_branch", "s_endpgm") else [index + 1]
    if target is not None and target in at:
        after.append(at[target])
    return [i for i in after if i < len(code)]


def main_loops(code):
    """(first, last) indices of the loops with the most matrix instructions that hold no such loop."""
    at = {address: i for i, (address, _, _) in enumerate(code)}
    loops = sorted({(at[target], i) for i, (_, _, target) in enumerate(code)
                    if target is not None and target in at and at[target] <= i},
                   key=lambda loop: loop[1] - loop[0])
    products = {}
    for first, last in loops:
        count = sum("v_mfma" in text for _, text, _ in code[first:last + 1])
        inner = any(first <= one[0] and one[1] <= last for one in products)
        if count and not inner:
            products[first, last] = count
    if not products:
        raise NoLoop("no loop with matrix instructions")
    return sorted(loop for loop, count in products.items() if count == max(products.values()))


def blocks_of(code, first, last):
    """Basic blocks of a loop: start -> (instructions, starts that follow inside the loop)."""
    at = {address: i for i, (address, _, _) in enumerate(code)}
    starts = {first}
    for i in range(first, last + 1):
        after = successors(code, i, at)
        if code[i][2] is not None or after != [i + 1]:
            starts.update(j for j in after if first <= j <= last)
            if i + 1 <= last:
                starts.add(i + 1)
    blocks = {}
    for start in starts:
        end = start
        while end < last and end + 1 not in starts:
            end += 1
        following = [j for j in successors(code, end, at) if first <= j <= last]
        blocks[start] = ([text for _, text, _ in code[start:end + 1]], following)
    return blocks


def rounds(code):
    """Ways through the main loops, from a loop's first instruction back to it: lists of
    instructions."""
    return [path for loop in main_loops(code) for path in paths(code, *loop)]


def paths(code, first, last, most=4096):
    """All ways from the loop's first instruction back to it, as lists of instructions."""
    blocks = blocks_of(code, first, last)
    found, stack = [], [(first, ())]
    while stack and len(found) < most:
        start, seen = stack.pop()
        seen = (*seen, start)
        for following in blocks[start][1]:
            if following == first:
                found.append([text for one in seen for text in blocks[one][0]])
            elif following not in seen:  # inner loops are passed by
                stack.append((following, seen))
    if not found:
        raise NoLoop("the way back to the main loop's beginning leads out of it")
    products = max(sum("v_mfma" in text for text in path) for path in found)
    return [path for path in found if sum("v_mfma" in text for text in path) == products]


def as_buffer_load(text):
    """`global_load_dwordx4 v[4:7], v[2:3], off offset:16` from a buffer."""
    name, result, address = text.replace(",", "").split()[:3]
    place = re.sub(r"\[(\d+):\d+\]", r"\1", address)
    return f"{name.replace('global', 'buffer')} {result}, {place}, s[96:99], 0 offen"


def slot_text(path, drop=None):
    """One instruction a slot for llvm-mca: idle slots of s_nop and special functions spelled out.
    `drop` ("vmcnt", "lgkmcnt") leaves the slots of those loads and waits, not their latency.
    """
    loads = {"vmcnt": "buffer_load", "lgkmcnt": "ds_read"}
    out = []
    for text in path:
        name = text.split()[0]
        if name.startswith(("s_branch", "s_cbranch")):
            out.append("s_nop 0")
        elif name == "s_nop":
            out += ["s_nop 0"] * (int(text.split()[1], 0) + 1)
        elif name.startswith("global_load"):
            # llvm-mca has those of flat addresses wait for LDS too, and these with them.
            out.append("s_nop 0" if drop and "vmcnt" in drop else as_buffer_load(text))
        elif drop and any(name.startswith(loads[one]) for one in drop):
            out.append("s_nop 0")
        elif drop and name == "s_waitcnt":
            kept = [wait for wait in re.findall(r"\w+\(\d+\)", text) if not wait.startswith(drop)]
            out.append("s_waitcnt " + " ".join(kept) if kept else "s_nop 0")
        else:
            out.append(text)
            if SPECIAL.match(name):
                out += ["s_nop 0"] * (SPECIAL_SLOTS - 1)
    return out


def slots(path, drop=None):
    """Slots of 4 clk that one wave alone takes for a round: 20 rounds less 10, by llvm-mca-15."""
    text = "\n".join(slot_text(path, drop)) + "\n"

    def cycles(rounds):
        result = subprocess.run(
            ["llvm-mca-15", "-mtriple=amdgcn", "-mcpu=gfx90a", f"-iterations={rounds}",
             "-instruction-info=0", "-resource-pressure=0"],
            input=text, capture_output=True, text=True, check=False)
        found = re.search(r"Total Cycles:\s+(\d+)", result.stdout)
        if not found:
            raise RuntimeError(f"llvm-mca-15: {result.stderr[:2000]}")
        return int(found[1])

    return (cycles(20) - cycles(10)) / 10


def counts(path):
    """Instructions of a path by kind."""
    def number(pattern):
        return sum(bool(re.match(pattern, text)) for text in path)

    matrix, special = number("v_mfma"), sum(bool(SPECIAL.match(text)) for text in path)
    return {"matrix": matrix, "special": special, "valu": number("v_") - matrix - special,
            "accumulator_moves": number("v_accvgpr"), "lds_reads": number("ds_read"),
            "lds_writes": number("ds_write"), "loads": number("(buffer|global)_load"),
            "scalar": number("s_") - number("s_waitcnt|s_nop|s_barrier"),
            "waits": number("s_waitcnt"), "barriers": number("s_barrier")}
