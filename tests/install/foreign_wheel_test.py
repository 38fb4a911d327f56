#!/usr/bin/env python3
"""A wheel for a system that does not run here, compared with the wheel for Linux.

Files that are not compiled have the same names and bytes in both. Each library and program is for the system of the
wheel's tag, is signed (macOS), loads only what that system, the engine's package or the wheel has, and exports what the
one for Linux exports.
"""

import argparse
import base64
import csv
import hashlib
import posixpath
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import lief
from wheel_test import ROOT, check_size, lines_of

COMPILED = re.compile(r"tendril/(bin/)?(\w+\.abi3\.so|lib\w+\.(so|dylib)|tendril)")
#: Debian's libraries and the list of them, which auditwheel adds to the wheel for Linux.
ADDED = re.compile(r"tendril_mujoco\.libs/.*|[^/]+\.dist-info/sboms/.*")
#: About the wheel itself.
ABOUT = re.compile(r"[^/]+\.dist-info/(WHEEL|RECORD)")


#: Of servos and images, which other systems lack.
ON_LINUX = re.compile(r"tendril::(Dynamixel|dynamixel::|system::SerialPort::|simulation::OffscreenContext::Impl::)")


# --- Mach-O ----------------------------------------------------------------------------------------
class MacOS:
    """A library or program for macOS, which dyld loads."""

    tag = "cp311-abi3-macosx_11_0_arm64"
    own = frozenset()  # files that only this wheel has
    python_besides = frozenset()  # names that only this wheel takes from Python

    @staticmethod
    def file_of(linux_name):
        """The name of a compiled file, by its name in the wheel for Linux."""
        return re.sub(r"(/lib\w+)\.so$", r"\1.dylib", linux_name)

    def __init__(self, name, content):
        self.name, self.content = name, content
        self.binaries = lief.MachO.parse(list(content)) or []

    def problems(self, files):
        """What is wrong; `files` are those that it may load."""
        if [binary.header.cpu_type for binary in self.binaries] != [lief.MachO.Header.CPU_TYPE.ARM64]:
            return ["must be for arm64 alone"]
        binary = self.binaries[0]
        absent = [
            f"loads {library}: must be of the system, of this wheel or of the engine's package"
            for library in libraries_of(binary)
            if not SYSTEM_LIBRARY.fullmatch(library) and not places_of(self.name, binary, library) & files
        ]
        return [*check_header(self.name, binary), *absent, *check_signature(self.content, binary)]

    def exports(self):
        """Names as those of ELF, without the underscore in front."""
        return {symbol.name.removeprefix("_") for symbol in self.binaries[0].exported_symbols}

    def needs_of_python(self):
        """Names that are looked up among all libraries of the process."""
        any_library = 0xFE
        imported = self.binaries[0].imported_symbols
        return {symbol.name.removeprefix("_") for symbol in imported if symbol.description >> 8 & 0xFF == any_library}


SYSTEM_LIBRARY = re.compile(r"/usr/lib/lib(System\.B|c\+\+\.1|z\.1)\.dylib")


def libraries_of(binary):
    kinds = lief.MachO.LoadCommand.TYPE
    loads = (kinds.LOAD_DYLIB, kinds.LOAD_WEAK_DYLIB, kinds.REEXPORT_DYLIB)
    return [command.name for command in binary.commands if command.command in loads]


def places_of(name, binary, library):
    """Where dyld looks for a library: `@rpath` is each place that the file lists, `@loader_path` the file's folder."""
    places = [rpath.path for rpath in binary.rpaths] if library.startswith("@rpath/") else [""]
    files = [library.replace("@rpath", place).replace("@loader_path", posixpath.dirname(name)) for place in places]
    return {posixpath.normpath(file) for file in files}


def check_header(name, binary):
    kinds = lief.MachO.Header.FILE_TYPE
    loaded_by_name = name.endswith(".abi3.so") or posixpath.basename(name) == "libtendril.dylib"
    kind = kinds.EXECUTE if name.endswith("/tendril") else kinds.BUNDLE if loaded_by_name else kinds.DYLIB
    if binary.header.file_type != kind:
        yield f"is a {binary.header.file_type}: must be a {kind}"
    version = binary.build_version
    if (version.platform, version.minos) != (lief.MachO.BuildVersion.PLATFORMS.MACOS, [11, 0, 0]):
        yield f"is for {version.platform} {version.minos}: must be for macOS 11.0"
    for rpath in binary.rpaths:
        if not re.match(r"@loader_path(/|$)", rpath.path):
            yield f"searches {rpath.path}: must be below @loader_path"
    if kind == kinds.DYLIB:
        own = binary.get(lief.MachO.LoadCommand.TYPE.ID_DYLIB).name
        if own != f"@rpath/{posixpath.basename(name)}":
            yield f"says that it is {own}: must be @rpath/{posixpath.basename(name)}"


def check_signature(content, binary):
    """An ad-hoc signature, without which macOS ends a process on arm64: a SHA-256 of each page."""
    if not binary.has_code_signature:
        yield "must be signed"
        return
    begin = binary.code_signature.data_offset
    directory = begin + struct.unpack_from(">I", content, begin + 16)[0]  # the first blob
    magic, _, _, flags, hashes, _, _, slots, limit = struct.unpack_from(">9I", content, directory)
    size, algorithm, _, page = struct.unpack_from("4B", content, directory + 36)
    adhoc, sha256 = 2, 2
    if magic != 0xFADE0C02 or not flags & adhoc or (size, algorithm, limit) != (32, sha256, begin):
        yield "must have an ad-hoc signature of all its bytes by SHA-256"
        return
    pages = [content[at : min(at + (1 << page), limit)] for at in range(0, limit, 1 << page)]
    signed = content[directory + hashes : directory + hashes + slots * size]
    if b"".join(hashlib.sha256(part).digest() for part in pages) != signed:
        yield "was changed after it was signed"


# --- PE --------------------------------------------------------------------------------------------
class Windows:
    """A library or program for Windows."""

    tag = "cp311-abi3-win_amd64"
    #: The compiler's libraries; nanobind's backend of the same compiler, for Python 3.11 and for later ones; licenses.
    own = frozenset(
        f"tendril/{name}"
        for name in (
            "bin/libstdc++-6.dll",
            "bin/libgcc_s_seh-1.dll",
            "bin/libwinpthread-1.dll",
            "_nanobind.pyd",
            "_nanobind.cp311-win_amd64.pyd",
            "licenses/gcc-mingw-w64-base.txt",
            "licenses/libz-mingw-w64-dev.txt",
            "licenses/mingw-w64-x86-64-dev.txt",
            "licenses/robin_map.txt",
        )
    )

    #: `long` and the characters of paths are other types there.
    python_besides = frozenset(
        (
            "PyLong_FromLongLong",
            "PyLong_FromUnsignedLongLong",
            "PyObject_IsTrue",
            "PyUnicode_AsWideCharString",
            "PyUnicode_FromWideChar",
            "PyUnicode_FSDecoder",
        )
    )

    @staticmethod
    def file_of(linux_name):
        """The name of a compiled file, by its name in the wheel for Linux."""
        name = re.sub(r"\.abi3\.so$", ".pyd", linux_name)
        name = re.sub(r"/lib(\w+)\.so$", r"/\1.dll", name)
        return re.sub(r"/bin/tendril$", "/bin/tendril.exe", name)

    def __init__(self, name, content):
        self.name, self.binary = name, lief.PE.parse(list(content))

    def problems(self, files):
        """What is wrong; `files` are those that it may load."""
        if self.binary is None or self.binary.header.machine != lief.PE.Header.MACHINE_TYPES.AMD64:
            return ["must be for x86-64"]
        names = {posixpath.basename(file) for file in files} | {self.python()}
        absent = [
            f"loads {library.name}: must be of the system, of this wheel or of the engine's package"
            for library in self.binary.imports
            if not SYSTEM_DLL.fullmatch(library.name) and library.name not in names
        ]
        return [*check_pe_header(self.name, self.binary), *absent]

    def python(self):
        return "python311.dll" if "cp311" in self.name else "python3.dll"

    def exports(self):
        """Without the exceptions of nanobind, which each module shows."""
        entries = self.binary.get_export().entries if self.binary.has_exports else ()
        return {entry.name for entry in entries if "8nanobind" not in entry.name}

    def needs_from(self, library):
        return {entry.name for found in self.binary.imports if found.name == library for entry in found.entries}

    def needs_of_python(self):
        return self.needs_from(self.python())


#: Libraries that every Windows has.
SYSTEM_DLL = re.compile("(KERNEL32|ADVAPI32|WS2_32|msvcrt)[.]dll", re.IGNORECASE)


def check_pe_header(name, binary):
    kinds = lief.PE.Header.CHARACTERISTICS
    if binary.header.has_characteristic(kinds.DLL) == name.endswith(".exe"):
        yield "must be a program" if name.endswith(".exe") else "must be a library"
    characteristics = lief.PE.OptionalHeader.DLL_CHARACTERISTICS
    for wanted in (characteristics.DYNAMIC_BASE, characteristics.NX_COMPAT, characteristics.HIGH_ENTROPY_VA):
        if not binary.optional_header.has(wanted):
            yield f"must have {wanted}"
    if name.endswith(".exe") and "UTF-8</activeCodePage>" not in binary.resources_manager.manifest:
        yield "must have a manifest with the code page UTF-8"


PLATFORMS = {"macos-arm64": MacOS, "windows-amd64": Windows}


# --- Both wheels -----------------------------------------------------------------------------------
def files_of(wheel):
    return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}


def check_contents(ours, linux, platform):
    """Same names, and same bytes of all that is not compiled."""
    expected = {platform.file_of(name) if COMPILED.fullmatch(name) else name: name for name in linux}
    expected = {name: other for name, other in expected.items() if not ADDED.fullmatch(name)}
    for name in sorted(expected.keys() - ours.keys()):
        yield f"{name}: must be in the wheel: {expected[name]} is in the one for Linux"
    for name in sorted(platform.own - ours.keys()):
        yield f"{name}: must be in the wheel"
    for name in sorted(ours.keys() - expected.keys() - platform.own):
        yield f"{name}: must not be in the wheel: it is not in the one for Linux"
    for name in sorted(ours.keys() & expected.keys()):
        about = COMPILED.fullmatch(expected[name]) or ABOUT.fullmatch(name)
        if not about and ours[name] != linux[expected[name]]:
            yield f"{name}: differs from the one for Linux, which may be older than the tree"


def check_record(ours):
    """The list of files has all of them, with their hashes."""
    record = next(name for name in ours if name.endswith(".dist-info/RECORD"))
    rows = {row[0]: row[1] for row in csv.reader(ours[record].decode().splitlines())}
    for name in sorted(rows.keys() ^ ours.keys()):
        yield f"{record}: must have exactly the files of the wheel: {name}"
    for name in sorted(rows.keys() & ours.keys() - {record}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(ours[name]).digest()).rstrip(b"=").decode()
        if rows[name] != f"sha256={digest}":
            yield f"{record}: {name}: has another hash"


def check_tag(file, ours, platform):
    wheel = next(content.decode() for name, content in ours.items() if name.endswith(".dist-info/WHEEL"))
    if not file.name.endswith(f"-{platform.tag}.whl"):
        yield f"{file.name}: must end with {platform.tag}.whl"
    if re.findall("^Tag: (.*)$", wheel, re.MULTILINE) != [platform.tag] or "Root-Is-Purelib: false" not in wheel:
        yield f"WHEEL: must have the tag {platform.tag} alone"


def functions(names):
    """Functions and variables of Tendril without their arguments, whose types have other names in other libraries."""
    text = "\n".join(sorted(names))
    plain = subprocess.run(["c++filt", "-p"], input=text, capture_output=True, text=True, check=True).stdout
    return {re.sub(r"\[abi:\w+\]", "", line) for line in plain.splitlines()}


def check_names(ours, linux_content):
    """What the compiler has put into the library for Linux and not only into its users; no other; as much of Python."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(linux_content)
        file.flush()
        symbols = [line.split() for line in lines_of("nm", "--dynamic", file.name)]
    exports = ours.exports()
    strong = functions(symbol[2] for symbol in symbols if len(symbol) == 3 and symbol[1] in "TBDR")
    if missing := sorted(name for name in strong - functions(exports) if not ON_LINUX.match(name)):
        yield f"does not export {len(missing)} names of the one for Linux, such as {missing[0]}"
    if strange := sorted(
        export for export in exports if not re.search("tendril|^PyInit_|^main$|^_mh_execute_header$", export)
    ):
        yield f"exports {len(strange)} names that are not ours, such as {strange[0]}"
    python = {symbol[1] for symbol in symbols if len(symbol) == 2 and symbol[1].startswith(("Py", "_Py"))}
    if strange := sorted(ours.needs_of_python() - python - ours.python_besides):
        yield f"needs {len(strange)} names that the one for Linux does not take from Python, such as {strange[0]}"


def check_compiled(ours, linux, platform, engine):
    files = ours.keys() | {f"mujoco/{file.name}" for file in engine.iterdir()}
    for name in sorted(platform.own & ours.keys()):
        if name.endswith(".pyd"):
            yield from (f"{name}: {problem}" for problem in platform(name, ours[name]).problems(files))
    names = {platform.file_of(name): name for name in linux if COMPILED.fullmatch(name)}
    for name in sorted(names.keys() & ours.keys()):
        parsed = platform(name, ours[name])
        problems = parsed.problems(files) or check_names(parsed, linux[names[name]])
        yield from (f"{name}: {problem}" for problem in problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("linux", type=Path, help="the wheel for Linux on x86-64, of the same tree")
    options = parser.parse_args()
    platform = PLATFORMS[options.platform]
    with zipfile.ZipFile(options.wheel) as wheel, zipfile.ZipFile(options.linux) as linux_wheel:
        ours, linux = files_of(wheel), files_of(linux_wheel)
        program = wheel.getinfo(platform.file_of("tendril/bin/tendril"))
    problems = [
        *([] if program.external_attr >> 16 & 0o100 else [f"{program.filename}: must be executable"]),
        *check_size(options.wheel),
        *check_tag(options.wheel, ours, platform),
        *check_record(ours),
        *check_contents(ours, linux, platform),
        *check_compiled(ours, linux, platform, ROOT / "build" / options.platform / "engine/mujoco"),
    ]
    for problem in problems:
        print(f"foreign_wheel_test: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
