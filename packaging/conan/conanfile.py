"""Tendril's mathematics and controllers as a Conan 2 package: the C++ libraries that need Eigen alone.

conan create packaging/conan --build=missing
"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

ROOT = Path(__file__).resolve().parents[2]


class Tendril(ConanFile):
    name = "tendril"
    package_type = "static-library"
    license = "Apache-2.0"
    description = "Continuum and snake robots: kinematics, inverse kinematics, planners, controllers"
    topics = ("robotics", "continuum-robots", "inverse-kinematics")
    settings = "os", "compiler", "build_type", "arch"

    def set_version(self):
        text = load(self, ROOT / "CMakeLists.txt")
        self.version = re.search(r"project\(tendril VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "tendril/*", "controllers/*"):
            copy(self, pattern, ROOT, self.export_sources_folder)

    def requirements(self):
        self.requires("eigen/[>=3.4 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for name in ("PLUGIN", "APPS", "TESTS"):
            toolchain.cache_variables[f"TENDRIL_BUILD_{name}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self):
        # find_package(tendril CONFIG) finds the files that Tendril installs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tendril"]
