#!/usr/bin/env python3
"""What the wheel holds, against what its build read: its size, the license texts of others' code, one copy of ours.

The libraries whose code is in the wheel are those whose headers the compiler read and whose archives the linker read
(ninja's records in the build folder), and those that auditwheel put into it. Each has its text in `licenses` below the
wheel's dist-info, and its row in docs/reference/licenses.md. Debian 12: packages own headers and archives. Those that
scripts/sysroot unpacked are owned by the installed packages of the same names.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 7_000_000  # bytes
#: Debian packages and Python packages whose code goes into the wheel, and the names of their texts.
TEXTS = {
    "libeigen3-dev": "eigen",
    "libfmt-dev": "fmt",
    "libtomlplusplus-dev": "tomlplusplus",
    "libpugixml-dev": "pugixml",
    "libhdf5-dev": "hdf5",
    "libaec-dev": "libaec",
    "nlohmann-json3-dev": "nlohmann_json",
    "libcli11-dev": "cli11",
    "nanobind": "nanobind",
}
#: What others install and the wheel only links or asks for: the C and C++ libraries, zlib, EGL, Python, the engine.
OUTSIDE = re.compile(
    r"(libc6|linux-libc|libstdc\+\+-\d+|libgcc-\d+|zlib1g|lib(e?gl|glvnd|gles|opengl)|libpython3\S*)-dev"
    r"(-arm64-cross)?"
)
OUTSIDE_PYTHON = {"mujoco", "numpy", "nanobind_backend"}
#: Libraries that a Linux of the wheel's tag has, or the engine's package.
PRESENT = re.compile(r"lib(c|dl|m|pthread|rt|z|stdc\+\+|gcc_s|mujoco)\.so\.[0-9.]+|ld-linux-[a-z0-9-]+\.so\.\d")
GLIBC = 28  # 2.28, as the engine's wheel
#: Names of the engine, of Python, and of zlib's first version.
UNVERSIONED = re.compile(r"mju?_|mjcb_|mjp_|mjr_|mjs_|mjv_|_?Py|(compress2?|(inflate|deflate)(Init_|Init2_|End)?)$")
SYSROOT = ROOT / "build/aarch64/sysroot"
#: Machines of the wheel's tag, as readelf names them.
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def read_by_build(build):
    """Files that the compiler and the linker have read, absolute."""
    found = {line.strip() for line in lines_of("ninja", "-C", build, "-t", "deps") if line.startswith("    ")}
    commands = lines_of("ninja", "-C", build, "-t", "commands", "tendril_wheel")
    archives = {word for line in commands for word in line.replace(",", " ").split() if word.endswith(".a")}
    return sorted({str((Path(build) / file).resolve()) for file in found | archives})


def debian_owners():
    owners = {}
    for listing in Path("/var/lib/dpkg/info").glob("*.list"):
        package = listing.stem.partition(":")[0]
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith(("/usr/include/", "/usr/lib/", "/usr/aarch64-linux-gnu/")):
                owners.setdefault(line, package)
                owners.setdefault(str(Path(line).resolve()) if line.endswith(".a") else line, package)
    return owners


def owner_of(file, build, owners):
    """The package that a file is of; None if it is ours."""
    if file.startswith(f"{SYSROOT}/"):
        file = file.removeprefix(str(SYSROOT)).replace("aarch64-linux-gnu", "x86_64-linux-gnu")
    if file.startswith((f"{ROOT}/", f"{build}/")) and "/site-packages/" not in file:
        return None
    if inside := re.search(r"/site-packages/([^/]+)/", file):
        return inside[1]
    return owners.get(file, file)


def check_licenses(wheel, build):
    problems = []
    owners = debian_owners()
    packages = {owner_of(file, build, owners) for file in read_by_build(build)} - {None} - OUTSIDE_PYTHON
    packages = {package for package in packages if not OUTSIDE.fullmatch(package) and "/gcc/" not in package}
    for package in sorted(packages - TEXTS.keys()):
        problems.append(f"{package}: is compiled in: must have a license text (TEXTS in tests/install/wheel_test.py)")
    for package in sorted(TEXTS.keys() - packages):
        problems.append(f"{package}: the build reads nothing of it: must not be in TEXTS")

    names = [re.sub(r"^(lib)?(.*?)\d*-[0-9a-f]{8}\.so.*$", r"\2", Path(name).name) for name in bundled(wheel)]
    for name in names:
        if not any(name in text for text in TEXTS.values()):
            problems.append(f"{name}: is bundled: must have a license text")

    texts = {
        Path(name).stem: wheel.read(name).decode() for name in wheel.namelist() if re.search(r"/licenses/.*[^/]$", name)
    }
    table = (ROOT / "docs/reference/licenses.md").read_text(encoding="utf-8")
    for text in sorted(TEXTS.values()):
        if "opyright" not in texts.get(text, ""):
            problems.append(f"licenses/{text}.txt: must be in the wheel, with a copyright")
        if f"`{text}.txt`" not in table:
            problems.append(f"docs/reference/licenses.md: must have a row of {text}.txt")
    for text in sorted(texts.keys() - set(TEXTS.values()) - {"LICENSE"}):
        problems.append(f"licenses/{text}.txt: is of nothing in the wheel")
    return problems


def bundled(wheel):
    return [name for name in wheel.namelist() if re.search(r"\.libs/.", name)]


def check_size(file):
    size = file.stat().st_size
    return [] if size <= LARGEST else [f"{file.name}: {size} bytes: must be at most {LARGEST}"]


def check_platform(wheel, tag):
    """Libraries and program are for the machine of the tag, and what they need is in the wheel or on every computer."""
    problems = []
    if (glibc := int(re.search(r"manylinux_2_(\d+)", tag)[1])) > GLIBC:
        problems.append(f"{tag}: needs glibc 2.{glibc}: must start on 2.{GLIBC}")
    machine = next(name for ending, name in MACHINES.items() if tag.endswith(ending))
    names = [name for name in wheel.namelist() if re.search(r"\.so(\.[0-9.]+)?$|/bin/tendril$", name)]
    own = {Path(name).name for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            lines = lines_of("readelf", "--file-header", "--dynamic", wheel.extract(name, folder))
            text = "\n".join(lines)
            if (found := re.search(r"Machine: +(.*)", text)[1]) != machine:
                problems.append(f"{name}: is for {found}: must be for {machine}")
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                if needed not in own and not PRESENT.fullmatch(needed):
                    problems.append(f"{name}: needs {needed}: must be in the wheel")
            for path in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text):
                if outside := [entry for entry in path.split(":") if not entry.startswith("$ORIGIN")]:
                    problems.append(f"{name}: searches {outside[0]}: must be below $ORIGIN")
    return problems


def check_names(wheel):
    """Names of the C and C++ libraries have a version, of which the wheel's tag is made. One without a version is of
    the engine, of Python, of zlib, or of the wheel."""
    needed, own = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for name in wheel.namelist():
            if not re.search(r"\.so(\.[0-9.]+)?$|/bin/tendril$", name):
                continue
            for line in lines_of("nm", "--dynamic", wheel.extract(name, folder)):
                *_, kind, symbol = line.split()
                if kind == "U" and "@" not in symbol:
                    needed.setdefault(symbol, name)
                elif kind not in "Uwv":
                    own.add(symbol.partition("@")[0])
    missing = sorted(symbol for symbol in needed.keys() - own if not UNVERSIONED.match(symbol))
    return [f"{needed[symbol]}: {symbol}: must have a version, or be in the wheel" for symbol in missing]


def check_copies(build):
    """Functions of Tendril in two libraries: those of the shared ones are nowhere else."""
    problems = []
    symbols = {file.name: lines_of("nm", "--defined-only", file) for file in sorted((Path(build) / "lib").glob("*.so"))}
    for shared in ("libtendril_core.so", "libtendril_host.so"):
        # What is local there is of a header: a function that each library may have.
        own = {line.split(" T ")[1] for line in symbols[shared] if " T _ZN" in line and "7tendril" in line}
        if not own:
            problems.append(f"{shared}: must have functions of Tendril")
        for library, lines in symbols.items():
            twice = sorted({line.split(" ")[2] for line in lines if " T " in line.upper()} & own)
            if twice and library != shared:
                problems.append(f"{library}: {len(twice)} functions are in {shared} too, such as {twice[0]}")
    return problems


def check_source(archive, build):
    """The source archive has the files of the tree that the build read or installed."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    read = {Path(file) for file in read_by_build(build)}
    needed = {str(file.relative_to(ROOT)) for file in read if file.is_relative_to(ROOT)}
    needed = {name for name in needed if not name.startswith(("build/", ".venv/"))}
    for folder in ("python", "models", "scenes", "cmake", "apps/tendril", "scripts"):
        needed |= set(lines_of("git", "-C", ROOT, "ls-files", folder))
    needed |= {"CMakeLists.txt", "pyproject.toml", "LICENSE", "PKG-INFO", "docs/guide/python.md"}
    problems = [f"{archive.name}: must have {name}" for name in sorted(needed - names)]
    if unwanted := sorted(name for name in names if name.startswith(("tests/", "docs/images/", "build/", ".venv/"))):
        problems.append(f"{archive.name}: must not have {unwanted[0]}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="the wheel of auditwheel")
    parser.add_argument("build", type=Path, help="the folder in which it was built, build/wheel")
    parser.add_argument("--source", type=Path, help="the source archive, if there is one")
    options = parser.parse_args()
    build = str(options.build.resolve())
    problems = check_size(options.wheel) + check_copies(build)
    with zipfile.ZipFile(options.wheel) as wheel:
        problems += check_licenses(wheel, build) + check_names(wheel)
        problems += check_platform(wheel, options.wheel.stem)
    if options.source:
        problems += check_source(options.source, build)
    for problem in problems:
        print(f"wheel_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
