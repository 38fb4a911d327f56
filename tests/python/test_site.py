"""scripts/site: the documents as a site. Skipped without Doxygen; with TENDRIL_TEST_EXTRAS in the environment there
must be one."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("doxygen") is None and not os.environ.get("TENDRIL_TEST_EXTRAS"), reason="no Doxygen")
def test_site_has_all_documents_and_both_interfaces(tmp_path):
    made = subprocess.run([ROOT / "scripts/site", "--out", tmp_path / "site"], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr  # a broken link fails
    for document in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / "site" / document.relative_to(ROOT).with_suffix(".html")).exists(), document
    python = (tmp_path / "site/api/python.html").read_text(encoding="utf-8")
    for name in ("tendril.ContinuumRobot.tip_pose", "tendril.load_scene", "tendril.sweep.Sweep"):
        assert f'id="{name}"' in python, name
    assert (tmp_path / "site/api/cpp/classtendril_1_1ContinuumRobot.html").exists()
    index = (tmp_path / "site/search/search_index.json").read_text(encoding="utf-8")
    assert "tip_jacobian" in index and "bending_stiffness" in index
