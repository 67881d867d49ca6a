# What `import torchlint` gives, for type checkers: at run time each name is loaded when it is first asked for.
from torchlint.api import check as check
from torchlint.findings import Edit as Edit
from torchlint.findings import Finding as Finding
from torchlint.findings import Fix as Fix
from torchlint.findings import Location as Location
from torchlint.findings import Related as Related
from torchlint.findings import Severity as Severity
from torchlint.run.session import Findings as Findings
from torchlint.run.session import Session as Session

__version__: str
