"""The raw copy instructions do what the calls of the API do: same bytes, same events."""

from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from copy_kernels import UB, bytes_of, load_kernel, store_kernel

# Per case: raw instruction, call of the API, as loads into `ub`; UB and GM are named as the frame of copy_kernels does.
IN = "(__gm__ T*)x", "(__ubuf__ T*)ub.GetPhyAddr()"
LOADS = {
    "blocks": ("half", f"copy_gm_to_ubuf({IN[1]}, {IN[0]}, 0, n, len, s, d);", "DataCopy(ub, xGm, DataCopyParams(n, len, s, d));", (3, 4, 2, 1)),
    "void": ("half", f"copy_gm_to_ubuf((__ubuf__ void*){IN[1]}, (__gm__ void*)x, 0, n, len, s, d);", "DataCopy(ub, xGm, DataCopyParams(n, len, s, d));", (2, 1, 1, 0)),
    "b16": ("half", f"copy_gm_to_ubuf_align_b16({IN[1]}, {IN[0]}, 0, n, len, 0, 0, s, d);",
            "DataCopyPad(ub, xGm, DataCopyExtParams(n, len, s, d, 0), DataCopyPadExtParams<T>(false, 0, 0, 0));", (3, 70, 26, 1)),
    "b32 padded": ("float", f"set_mov_pad_val(0x40400000); copy_gm_to_ubuf_align_b32({IN[1]}, {IN[0]}, 0, n, len, 1, 2, s, d);",
                   "DataCopyPad(ub, xGm, DataCopyExtParams(n, len, s, d, 0), DataCopyPadExtParams<T>(true, 1, 2, 3.0f));", (3, 20, 12, 1)),
    "b8": ("int8_t", f"copy_gm_to_ubuf_align_b8({IN[1]}, {IN[0]}, 0, n, len, 0, 0, s, d);",
           "DataCopyPad(ub, xGm, DataCopyExtParams(n, len, s, d, 0), DataCopyPadExtParams<T>(false, 0, 0, 0));", (4, 33, 5, 0)),
    "inside UB": ("half", f"copy_ubuf_to_ubuf({IN[1]} + 512, {IN[1]}, 0, n, len, s, d);", "DataCopy(ub[512], ub, DataCopyParams(n, len, s, d));", (3, 2, 1, 2)),
}
STORES = {
    "blocks": ("half", f"copy_ubuf_to_gm({IN[0]}, {IN[1]}, 0, n, len, s, d);", "DataCopy(xGm, ub, DataCopyParams(n, len, s, d));", (3, 4, 2, 1)),
    "b16": ("half", f"copy_ubuf_to_gm_align_b16({IN[0]}, {IN[1]}, 0, n, len, 0, 0, s, d);", "DataCopyPad(xGm, ub, DataCopyExtParams(n, len, s, d, 0));", (3, 70, 1, 6)),
    "b32": ("float", f"copy_ubuf_to_gm_align_b32({IN[0]}, {IN[1]}, 0, n, len, 0, 0, s, d);", "DataCopyPad(xGm, ub, DataCopyExtParams(n, len, s, d, 0));", (2, 36, 0, 4)),
    "b8": ("int8_t", f"copy_ubuf_to_gm_align_b8({IN[0]}, {IN[1]}, 0, n, len, 0, 0, s, d);", "DataCopyPad(xGm, ub, DataCopyExtParams(n, len, s, d, 0));", (4, 33, 0, 5)),
}
NUMBERS = "n len s d"


def outcome(make, call, t, numbers, seed):
    rng = np.random.default_rng(seed)
    x, before, after = bytes_of(rng, UB), bytes_of(rng, UB), np.zeros(UB, np.uint8)
    run = make(call, t, NUMBERS)[1](x, before, after, *numbers)
    events = [(e["pipe"], e["bytes"], e["start"], e["end"]) for e in run.events]
    return x, after, events, [f.code for f in run.findings]


@pytest.mark.parametrize("make,name", [*((load_kernel, n) for n in LOADS), *((store_kernel, n) for n in STORES)], ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_same_bytes_and_events_as_the_api(make, name):
    t, raw, api, numbers = (LOADS if make is load_kernel else STORES)[name]
    got, want = outcome(make, raw, t, numbers, 1), outcome(make, api, t, numbers, 1)
    assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
    assert got[3] == want[3] and [e[:2] for e in got[2]] == [e[:2] for e in want[2]]


def test_set_atomic_none_ends_an_accumulation():
    call = "SetAtomicAdd<T>(); DataCopy(xGm, ub, 8); set_atomic_none(); PipeBarrier<PIPE_ALL>(); DataCopy(xGm[8], ub[8], 8);"
    x, before = np.ones(UB // 4, np.float32), np.full(UB // 4, 2, np.float32)
    run = store_kernel(call, "float", "n")[1](x, before, np.zeros(UB // 4, np.float32), 0)
    assert not [f for f in run.findings if f.severity != "note"]
    assert np.all(x[:8] == 3) and np.all(x[8:16] == 2) and np.all(x[16:] == 1)


def test_a_pointer_that_is_not_in_ub_is_named():
    with pytest.raises(hp.KernelError) as e:
        k = load_kernel("copy_gm_to_ubuf((__ubuf__ T*)x, (__gm__ T*)x, 0, n, 1, 0, 0);", "half", "n")
        k[1](np.zeros(UB, np.uint8), np.zeros(UB, np.uint8), np.zeros(UB, np.uint8), 1)
    assert e.value.findings[0].code in ("WRONG_POSITION", "OUT_OF_BOUNDS") and e.value.findings[0].line
