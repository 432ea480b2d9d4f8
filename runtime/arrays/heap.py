"""Keep the heap: output is made in chunks of some megabytes that live for a moment.

glibc gives the end of its heap back to the system when more than a bound is free there, and takes large blocks from the
system one by one; each page is then faulted in again for the next chunk, which costs as much as filling it. Both bounds
follow the largest block that was ever freed, up to 32 MB. So one that nobody touches is allocated and freed, once:
from then on up to 62 MB of what chunks have used stays with the process. Elsewhere this does nothing.
"""

from __future__ import annotations

import numpy as np

_LARGEST = 31 << 20
_done = False


def keep_heap() -> None:
    """See the module's text. Costs two system calls, the first time."""
    global _done
    if not _done:
        _done = True
        np.empty(_LARGEST, dtype=np.uint8)
