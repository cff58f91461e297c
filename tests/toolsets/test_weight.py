"""What may be imported without paying for pydantic-ai."""

from __future__ import annotations

import subprocess
import sys

LIGHT = (
    "confinement",
    "folders",
    "isolation",
    "media",
    "paths",
    "problems",
)


def test_confinement_and_the_parent_of_an_inspection_do_not_import_pydantic_ai():
    program = "".join(f"import llmdo.toolsets.{name}\n" for name in LIGHT)
    program += "import sys\nassert 'pydantic_ai' not in sys.modules\n"
    subprocess.run([sys.executable, "-c", program], check=True)
