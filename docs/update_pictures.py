"""Makes README's pictures from what the tools really print.

    python docs/update_pictures.py           # make them anew; the second one needs Chromium
    python docs/update_pictures.py --check   # change nothing; exit status 1 where the first is not up to date

docs/pictures/torchlint.svg is torchlint's output in a terminal, docs/pictures/report.png the top of torchsan's report page.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
COMMAND = ("torchlint", "examples/mistakes.py", "--select", "TL118,TL203")
PROGRAM = "examples/broken_training.py"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_COLUMNS, _WIDTH, _HEIGHT = 104, 1000, 980
_THEME = TerminalTheme(
    (20, 23, 28), (228, 232, 238),
    [(72, 79, 88), (255, 123, 114), (86, 211, 100), (227, 179, 65), (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
)
# Rich's own frame fetches a font from the web; pictures of ours fetch nothing.
_SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>torchlint in a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def _environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TORCHLINT_OUTPUT_FORMAT")}
    return {**kept, "TORCHLINT_OUTPUT_FORMAT": "full", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1", **more}


def terminal() -> str:
    """What torchlint prints in colours, as SVG."""
    tool, *options = COMMAND
    done = subprocess.run(
        [sys.executable, "-m", tool, *options, "--no-cache", "--color", "always"], cwd=ROOT, encoding="utf-8",
        env=_environment(COLUMNS=str(_COLUMNS), TERM="xterm-256color"), stdout=subprocess.PIPE, timeout=300,
    )
    if done.returncode != 1:
        raise RuntimeError(f"{' '.join(COMMAND)}: exit status {done.returncode}")
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bright_black"), (" ".join(COMMAND), "bold")))
    console.print(Text.from_ansi(done.stdout.rstrip()))
    svg = console.export_svg(title="", theme=_THEME, code_format=_SVG, unique_id="torchlint")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def page(picture: Path) -> None:
    """The top of the report page of a run, as PNG."""
    if CHROMIUM is None:
        raise RuntimeError("no Chromium here to show the report page")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        subprocess.run(
            [sys.executable, "-m", "torchsan", "run", "--quiet", "--report", str(report), PROGRAM], cwd=ROOT, check=True,
            env=_environment(), capture_output=True, timeout=300,
        )
        subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={_WIDTH},{_HEIGHT}",
             f"--screenshot={picture}", report.as_uri()], check=True, capture_output=True, timeout=300,
        )


def main() -> int:
    svg = FOLDER / "torchlint.svg"
    made = terminal()
    if "--check" in sys.argv[1:]:
        if not svg.exists() or svg.read_text(encoding="utf-8") != made:
            print("docs/pictures is not up to date: run python docs/update_pictures.py", file=sys.stderr)
            return 1
        return 0
    FOLDER.mkdir(exist_ok=True)
    svg.write_text(made, encoding="utf-8")
    page(FOLDER / "report.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
