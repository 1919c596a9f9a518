"""For scripts that import what may not be installed: they say so, and `--help` what they are for."""

import importlib.util
import sys
from pathlib import Path


def need(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if not missing:
        return
    script = Path(sys.argv[0]).name
    if not {"-h", "--help"} & set(sys.argv[1:]):
        sys.exit(f"{script}: needs {' and '.join(missing)}")
    print(sys.modules["__main__"].__doc__)
    print(f"To list its options too {script} needs {' and '.join(missing)}.")
    sys.exit()
