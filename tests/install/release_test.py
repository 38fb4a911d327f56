#!/usr/bin/env python3
"""scripts/release writes a version into every place that has one, and refuses what cannot be released."""

import datetime
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md", "pyproject.toml", "packaging/conda/recipe.yaml")
DATE = datetime.date(2030, 2, 1)


def script():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


RELEASE = script()


def version_of(folder):
    """As the wheel finds it."""
    pattern = re.search(r"^regex = '(.*)'$", (folder / "pyproject.toml").read_text(), re.MULTILINE)[1]
    return re.search(pattern, (folder / "CMakeLists.txt").read_text())["value"]


class Release(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        changelog = self.folder / "CHANGELOG.md"
        newest = re.compile(r"^## [0-9.]+, .*$", re.MULTILINE)
        changelog.write_text(newest.sub("## 7.8.9, not yet released", changelog.read_text(), count=1))

    def git(self, *words, folder=None):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *words], cwd=folder or self.folder, check=True, capture_output=True)

    def test_a_version_is_in_every_place(self):
        RELEASE.set_version(self.folder, "7.8.9", DATE)
        self.assertEqual(version_of(self.folder), "7.8.9")
        citation = (self.folder / "CITATION.cff").read_text()
        self.assertIn("\nversion: 7.8.9\ndate-released: 2030-02-01\n", citation)
        self.assertIn("\ncff-version: 1.2.0\n", "\n" + citation)
        self.assertIn("\n## 7.8.9, 2030-02-01\n", (self.folder / "CHANGELOG.md").read_text())
        # Nothing else has changed.
        for name in ("CMakeLists.txt", "CHANGELOG.md", "packaging/conda/recipe.yaml"):
            ours, theirs = ((where / name).read_text().splitlines() for where in (self.folder, ROOT))
            self.assertEqual(len(ours), len(theirs))
            self.assertEqual(sum(a != b for a, b in zip(ours, theirs, strict=True)), 1)

    def test_a_version_that_the_changelog_does_not_have_is_refused(self):
        with self.assertRaisesRegex(RELEASE.Refusal, "CHANGELOG.md: not yet released: 7.8.9: must be 7.8.8"):
            RELEASE.set_version(self.folder, "7.8.8", DATE)

    def test_versions_of_the_tree_agree(self):
        version = version_of(ROOT)
        self.assertIn(f'\n  version: "{version}"\n', (ROOT / "packaging/conda/recipe.yaml").read_text())
        self.assertRegex((ROOT / "CITATION.cff").read_text(), rf"(?m)^version: {re.escape(version)}$")
        self.assertRegex((ROOT / "CHANGELOG.md").read_text(), rf"(?m)^## {re.escape(version)}, ")

    def repository(self):
        """A tree of its own with all that has a version, committed."""
        repository = self.folder / "repository"
        (repository / "scripts").mkdir(parents=True)
        for name in FILES:
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / name, repository / name)
        shutil.copy(ROOT / "scripts/release", repository / "scripts")
        (repository / ".gitignore").write_text("build/\n")
        self.git("init", "--quiet", "--initial-branch", "main", folder=repository)
        for key, value in (("user.name", "A person"), ("user.email", "x@example.org")):
            self.git("config", key, value, folder=repository)
        self.git("add", ".", folder=repository)
        self.git("commit", "--quiet", "--message", "x", folder=repository)
        return repository

    def test_a_version_is_committed_and_tagged_when_all_has_passed(self):
        repository = self.repository()
        RELEASE.ROOT, before = repository, RELEASE.ROOT
        self.addCleanup(setattr, RELEASE, "ROOT", before)
        RELEASE.require_ready("7.8.9")
        clone = RELEASE.committed("7.8.9")
        self.assertEqual(version_of(clone), "7.8.9")
        log = RELEASE.run(clone, "git", "log", "-1", "--format=%an %s")
        self.assertEqual(log, "A person Release 7.8.9")
        self.assertNotIn("7.8.9", (repository / "CITATION.cff").read_text())
        RELEASE.take(clone, "7.8.9")
        self.assertEqual(version_of(repository), "7.8.9")
        self.assertEqual(RELEASE.run(repository, "git", "describe"), "v7.8.9")
        with self.assertRaisesRegex(RELEASE.Refusal, "must be above the last one, 7.8.9"):
            RELEASE.require_ready("7.8.9")

    def test_what_is_shipped_has_the_site_beside_the_source(self):
        for name in ("out/wheel/x.whl", "out/wheel/x.tar.gz", "out/wheel-other/y.whl", "out/site/index.html"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(name)
        options = RELEASE.argparse.Namespace(version="7.8.9", no_site=False)
        out = RELEASE.collected(options, self.folder)
        names = {"CHANGELOG.md", "SHA256SUMS", "tendril-site-7.8.9.tar.gz", "x.tar.gz", "x.whl", "y.whl"}
        self.assertEqual({file.name for file in out.iterdir()}, names)
        self.assertEqual(RELEASE.source_archive(self.folder).name, "x.tar.gz")
        self.assertEqual(len((out / "SHA256SUMS").read_text().splitlines()), len(names) - 1)

    def test_a_tree_that_is_not_ready_is_refused_in_one_line(self):
        repository = self.repository()
        self.git("tag", "v7.9.0", folder=repository)

        def refusal(*words):
            done = subprocess.run(
                [sys.executable, repository / "scripts/release", *words], capture_output=True, text=True, check=False
            )
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            return done.stderr

        self.assertIn("VERSION: 7.8: must be three numbers", refusal("7.8"))
        self.assertIn("VERSION: 7.8.9: must be above the last one, 7.9.0", refusal("7.8.9"))
        self.assertIn("--stamped: .ci/run has left no stamp", refusal("7.9.1", "--stamped"))
        self.git("checkout", "--quiet", "-b", "other", folder=repository)
        self.assertIn("branch other: must be main", refusal("7.9.1"))
        (repository / "CMakeLists.txt").write_text("changed")
        self.assertIn("CMakeLists.txt: is not committed", refusal("7.9.1"))


if __name__ == "__main__":
    if sys.argv[1:] == ["--help"]:
        print(f"usage: release_test.py\n{__doc__}")
        sys.exit(0)
    unittest.main()
