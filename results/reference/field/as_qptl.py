"""Print the choices made for ``qptl-dual`` as choices for ``qptl``.

Both solve the same program and give the same gradients, one through the dual layer and one through
cvxpylayers, so what suits one suits the other.
"""

import sys
from pathlib import Path

import tomlkit

document = tomlkit.parse(Path(sys.argv[1]).read_text("utf-8")).unwrap()
document["methods"] = ["qptl"]
for setting in document["setting"]:
    for table in ("option", "tuned"):
        setting[table] = {"qptl": setting[table]["qptl-dual"]}
    setting["tuned"]["qptl"]["search"] += " through qptl-dual"
print(tomlkit.dumps(document))
