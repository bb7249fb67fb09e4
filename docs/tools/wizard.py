"""Take the pictures of the wizard: ``python -m docs.tools.wizard`` writes docs/images/wizard.png and wizard-better.png.

It starts the real server and a headless Chromium (playwright's, or the one on PATH), which takes some seconds.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

IMAGES = Path(__file__).resolve().parents[1] / "images"
ANSWERS = "phase=inference&model=llama-3.1-8b&concurrency=8"
PICTURES = {"wizard.png": "answer", "wizard-better.png": "better"}
"""Each picture, and the page of ``ANSWERS`` that it shows."""
_SIZE = (1000, 720)  # of the window, in pixels


def photograph(folder: Path) -> None:
    """Write each of the ``PICTURES`` into a folder."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  a browser is driven by this command alone

    command = [sys.executable, "-m", "whygpu.cli", "ui", "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server,
        sync_playwright() as playwright,
    ):
        try:
            line = server.stdout.readline() if server.stdout else ""
            address = re.search(r"http://127\.0\.0\.1:\d+", line)
            if address is None:
                raise RuntimeError(f"the wizard said no address: {line!r}")
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
                args=["--no-sandbox"],
            )
            page = browser.new_page(viewport={"width": _SIZE[0], "height": _SIZE[1]})
            for name, shown in PICTURES.items():
                page.goto(f"{address[0]}/?{ANSWERS}&page={shown}")
                page.get_by_role("heading", level=1).first.wait_for(timeout=60_000)
                page.wait_for_timeout(3_000)  # the last redraw, and fonts
                page.screenshot(path=folder / name)
            browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    photograph(IMAGES)
