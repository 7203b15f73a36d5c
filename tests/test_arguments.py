"""What can be passed to a kernel, and what is said when it does not fit."""
from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers import adopt, arguments
from helpers.arguments import CODE, POINTER, SCALAR, STRUCT, Param, bind

TYPED = {"half": np.float16, "bfloat16_t": ml_dtypes.bfloat16, "float": np.float32, "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16,
         "uint16_t": np.uint16, "int32_t": np.int32, "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "bool": np.bool_}
SOURCE = '#include "kernel_operator.h"\nusing namespace AscendC;\n' + "".join(
    f'extern "C" __global__ __aicore__ void move_{t}(__gm__ {t}* x, __gm__ {t}* y, uint32_t n) {{\n'
    f'    for (uint32_t i = 0; i < n; i++) y[i] = x[i];\n}}\n' for t in TYPED) + r'''
struct Sizes { int64_t n; float scale; uint8_t flag; };
extern "C" __global__ __aicore__ void scalars(__gm__ float* out, float a, int32_t b, uint8_t c, bool d, half e, int64_t f, Sizes s) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = (float)e; out[5] = (float)(f >> 32); out[6] = s.n * s.scale + s.flag;
}
extern "C" __global__ __aicore__ void addresses(GM_ADDR x, GM_ADDR y, GM_ADDR out) {
    ((__gm__ int64_t*)out)[0] = x == nullptr ? -1 : y == nullptr ? -2 : y - x;
}
extern "C" __global__ __aicore__ void increment(__gm__ float* x, __gm__ float* y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) x[i] += 1.0f;
    for (uint32_t i = 0; i < n; i++) y[i] += 10.0f;
}
extern "C" __global__ __aicore__ void scratch(__gm__ float* x, GM_ADDR ws, uint32_t n) {
    __gm__ float* w = (__gm__ float*)ws;
    for (uint32_t i = 0; i < n; i++) w[i] = x[i] * 2;
    for (uint32_t i = 0; i < n; i++) x[i] = w[n - 1 - i];
}
extern "C" __global__ __aicore__ void copy_bytes(GM_ADDR x, GM_ADDR y, uint32_t n) { for (uint32_t i = 0; i < n; i++) y[i] = x[i]; }
'''


@pytest.fixture(scope="module")
def k():
    class Kernels:
        def __getattr__(self, name):
            return hp.compile(SOURCE, name=name)
    return Kernels()


def refused(call, code="HOST_ARGUMENT"):
    with pytest.raises(hp.KernelError) as caught:
        call()
    found = caught.value.findings[0]
    assert {f.code for f in caught.value.findings} == {code} and found.hint
    return found


# ---- arrays
@pytest.mark.parametrize("cpp", TYPED)
@pytest.mark.parametrize("n", [1, 7, 1003])
def test_every_type_arrives_bit_for_bit(k, cpp, n):
    x = np.random.default_rng(n).integers(0, 256, 8 * n, dtype=np.uint8)
    x = (x & 1).view(np.bool_)[:n] if cpp == "bool" else x.view(TYPED[cpp])[:n].copy()
    y = np.zeros_like(x)
    getattr(k, f"move_{cpp}")[1](x, y, n)
    assert y.tobytes() == x.tobytes()


def test_bit_patterns_and_shapes(k):
    bits = np.arange(12, dtype=np.uint16).reshape(3, 4)
    y = np.zeros((2, 6), ml_dtypes.bfloat16)
    k.move_bfloat16_t[1](bits, y, 12)
    assert (y.view(np.uint16).ravel() == bits.ravel()).all()
    flags = np.array([True, False, True])
    out = np.zeros(3, np.uint8)
    k.move_bool[1](flags, out, 3)
    assert out.tolist() == [1, 0, 1]


def test_zero_dimensional_and_empty_arrays(k):
    x, y = np.array(2.5, np.float32), np.zeros((), np.float32)
    k.move_float[1](x, y, 1)
    assert y == 2.5
    k.move_float[1](np.zeros(0, np.float32), np.zeros((3, 0), np.float32), 0)


def test_read_only_arrays_are_inputs(k):
    x = np.arange(8, dtype=np.float32)
    x.flags.writeable = False
    y = np.zeros(8, np.float32)
    k.move_float[1](x, y, 8)
    assert (y == x).all()
    y.flags.writeable = False
    found = refused(lambda: k.move_float[1](x, y, 8))
    assert "argument y" in found.message and "read-only" in found.message
    k.move_float[1](np.broadcast_to(np.float32(3), (1,)), np.zeros(1, np.float32), 1)


def test_gaps_are_named_with_the_way_out(k):
    x = np.zeros((4, 6), np.float32)
    found = refused(lambda: k.move_float[1](x[:, ::2], x, 12))
    assert "gaps" in found.message and "np.ascontiguousarray(x)" in found.hint
    found = refused(lambda: k.move_float[1](x, x.T, 12))
    assert "column by column" in found.message and "y" in found.message


@pytest.mark.parametrize("array, says", [
    (np.zeros(4, np.float16), "float16"), (np.zeros(4, np.float64), "float64"), (np.zeros(4, np.int32), "int32"),
    (np.zeros(4, np.complex64), "complex64"), (np.zeros(4, object), "object"), (np.zeros(4, ">f4"), "foreign byte order"),
    (np.array(["a"]), "<U1"), (np.zeros(4, "M8[s]"), "datetime64")])
def test_wrong_types(k, array, says):
    found = refused(lambda: k.move_float[1](array, np.zeros(4, np.float32), 4))
    assert "Argument x" in found.message and says in found.message


@pytest.mark.parametrize("thing", [[1.0, 2.0], 3.5, "text", {"a": 1}, object()])
def test_things_that_are_no_arrays(k, thing):
    found = refused(lambda: k.move_float[1](thing, np.zeros(4, np.float32), 4))
    assert "Argument x is" in found.message and type(thing).__name__ in found.message


def test_gm_addr_takes_every_type(k):
    for dtype in (np.float16, np.int64, np.bool_, ml_dtypes.bfloat16):
        x, y = np.ones(4, dtype), np.zeros(4, dtype)
        k.copy_bytes[1](x, y, x.nbytes)
        assert (x == y).all()


def test_number_of_arguments(k):
    found = refused(lambda: k.move_float[1](np.zeros(4, np.float32)))
    assert "3 arguments (float* x, float* y, uint32_t n); 1 was given" in found.message


# ---- memory that several arguments share
def test_the_same_array_twice_is_one_buffer(k):
    x = np.zeros(100, np.float32)
    k.increment[1](x, x, 100)
    assert (x == 11).all()
    out = np.zeros(1, np.int64)
    k.addresses[1](x, x, out)
    assert out[0] == 0


def test_overlapping_views_share_memory(k):
    x = np.zeros(100, np.float32)
    k.increment[1](x[10:20], x[15:], 10)
    assert x[10:15].tolist() == [1] * 5 and x[15:20].tolist() == [11] * 5 and x[20:25].tolist() == [10] * 5 and x[:10].max() == 0
    out = np.zeros(1, np.int64)
    k.addresses[1](x[4:50], x[8:60], out)
    assert out[0] == 16


def test_neighbouring_views_are_separate_buffers(k):
    x = np.zeros(128, np.float32)
    k.increment[1](x[:64], x[64:], 64)
    assert (x[:64] == 1).all() and (x[64:] == 10).all()
    found = refused(lambda: k.increment[1](x[:64], x[64:], 66), "GM_OUT_OF_BOUNDS")
    assert "argument" in found.message


def test_null_and_workspace(k):
    out = np.zeros(1, np.int64)
    k.addresses[1](None, out, out)
    assert out[0] == -1
    x = np.arange(64, dtype=np.float32)
    k.scratch[1](x, hp.workspace(256), 64)
    assert (x == np.arange(64)[::-1] * 2).all()
    found = refused(lambda: k.scratch[1](x, hp.workspace(255), 64), "GM_OUT_OF_BOUNDS")
    assert "workspace" in found.message
    for wrong in (-1, 1.5, True, "1"):
        refused(lambda wrong=wrong: hp.workspace(wrong))


def test_more_memory_than_the_launch_may_use(k):
    x = np.zeros(4, np.float32)
    found = refused(lambda: k.scratch[1](x, hp.workspace(10 << 30), 4), "OUT_OF_MEMORY")
    assert "10.0 GB" in found.message and "memory_mb=" in found.hint
    big = np.zeros(3 << 30, np.uint8)         # address space only: its pages are never made
    found = refused(lambda: k.copy_bytes.launch(1, (big, x, 4), memory_mb=1024), "OUT_OF_MEMORY")
    assert "x 3.0 GB" in found.message
    k.scratch.launch(1, (x, hp.workspace(6 << 30), 4), memory_mb=8192)


# ---- values
class Sizes(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int64), ("scale", ctypes.c_float), ("flag", ctypes.c_uint8)]


def test_scalars_and_structs_by_value(k):
    out = np.zeros(7, np.float32)
    k.scalars[1](out, 1.5, -7, np.uint8(200), True, 0.1, 5 << 32, Sizes(3, 2.0, 9))
    assert out.tolist() == [1.5, -7, 200, 1, np.float32(np.float16(0.1)), 5, 15]
    k.scalars[1](out, 2, np.int64(9), 0, 0, np.float32(2), -1, bytes(Sizes(1, 1.0, 0)))
    assert out.tolist() == [2, 9, 0, 0, 2, -1, 1]


def one(kind: int, cpp: str, value) -> bytes:
    code = arguments.CPP_NAME.index(cpp) if kind == SCALAR else 0
    nbytes = {"half": 2, "bfloat16_t": 2, "float": 4, "double": 8, "bool": 1}.get(cpp) or (int("".join(c for c in cpp if c.isdigit())) // 8 if kind == SCALAR else 13)
    return bind((Param("v", kind, code, nbytes),), (value,))[1][0].data


@pytest.mark.parametrize("cpp", [c for c in arguments.CPP_NAME if "int" in c and "4b" not in c])
def test_integer_ranges(cpp):
    bits, low = int("".join(c for c in cpp if c.isdigit())), 0
    high = 2**bits - 1
    if not cpp.startswith("u"):
        low, high = -2**(bits - 1), 2**(bits - 1) - 1
    for value in (low, high, 0, 1):
        assert int.from_bytes(one(SCALAR, cpp, value), "little", signed=low < 0) == value
    for value in (low - 1, high + 1):
        assert f"{cpp} holds {low} to {high}" in refused(lambda value=value: one(SCALAR, cpp, value)).message


@pytest.mark.parametrize("value", [1.0, 2.5, float("nan"), float("inf"), np.float32(3), None, "1", [1], np.zeros(2, np.int32)])
def test_numbers_that_are_not_whole(value):
    refused(lambda: one(SCALAR, "int32_t", value))


def test_floats():
    assert one(SCALAR, "float", 0.1) == np.float32(0.1).tobytes()
    assert one(SCALAR, "double", 0.1) == np.float64(0.1).tobytes()
    assert one(SCALAR, "half", 65504) == np.float16(65504).tobytes()
    for value in (0.1, -3.14159, 1e-40, 3e38, 1 + 2**-8, 1 + 3 * 2**-8, float("inf"), 0.0, -0.0):
        assert one(SCALAR, "bfloat16_t", value) == ml_dtypes.bfloat16(np.float32(value)).tobytes()
    assert np.isnan(np.frombuffer(one(SCALAR, "bfloat16_t", float("nan")), ml_dtypes.bfloat16)[0].astype(np.float32))
    for cpp, value in (("half", 70000), ("float", 1e39), ("bfloat16_t", 3.4e38), ("float", 10**400)):
        assert "too large" in refused(lambda cpp=cpp, value=value: one(SCALAR, cpp, value)).message


def test_structs_must_have_the_right_size():
    assert one(STRUCT, "", bytes(13)) == bytes(13)
    assert "has 12 B; the kernel's struct has 13 B" in refused(lambda: one(STRUCT, "", bytes(12))).message
    refused(lambda: one(STRUCT, "", 5))
    record = np.zeros((), [("a", "<i8"), ("b", "<f4"), ("c", "u1")])
    assert len(one(STRUCT, "", record[()])) == 13


def test_a_struct_as_bytes_in_memory(k):
    data = Sizes(5, 0.5, 1)
    y = np.zeros(16, np.uint8)
    k.copy_bytes[1](data, y, 16)
    assert y.tobytes()[:13] == bytes(data)[:13]


# ---- tensors of frameworks
def test_torch_tensors_share_memory(k):
    torch = pytest.importorskip("torch")
    x, y = torch.arange(8, dtype=torch.float32), torch.zeros(8)
    k.move_float[1](x, y, 8)
    assert torch.equal(x, y)
    b, c = torch.randn(8).bfloat16(), torch.zeros(8, dtype=torch.bfloat16)
    k.move_bfloat16_t[1](b, c, 8)
    assert torch.equal(b, c)
    refused(lambda: k.move_float[1](torch.zeros(4, 4).t(), y, 8))


def test_mindspore_tensors_share_memory(k):
    ms = pytest.importorskip("mindspore")
    x, y = ms.Tensor(np.arange(8, dtype=np.float32)), ms.Tensor(np.zeros(8, np.float32))
    k.move_float[1](x, y, 8)
    assert (y.asnumpy() == x.asnumpy()).all()
    p = ms.Parameter(ms.Tensor(np.zeros(8, np.float32)))
    k.move_float[1](x, p, 8)
    assert (p.asnumpy() == x.asnumpy()).all()
    b, c = x.astype(ms.bfloat16), ms.Tensor(np.zeros(8, np.float32)).astype(ms.bfloat16)
    k.move_bfloat16_t[1](b, c, 8)
    assert (c.astype(ms.float32).asnumpy() == x.asnumpy()).all()
    refused(lambda: k.move_float[1](ms.Tensor(np.zeros((4, 2), np.float32)).transpose(1, 0), y, 8))


class FakeTensor:
    """Looks like a torch tensor on a device."""
    __module__ = "torch"
    device = type("device", (), {"type": "npu", "__str__": lambda self: "npu:0"})()

    def data_ptr(self):
        return 0


def test_device_tensors_are_refused(k):
    found = refused(lambda: k.move_float[1](FakeTensor(), np.zeros(4, np.float32), 4))
    assert "npu:0" in found.message and "x.cpu()" in found.hint


# ---- large arrays: their pages are shared in place
N = 9 << 20
shared_pages = pytest.mark.skipif(not adopt.possible(), reason="this system copies large arrays")


def large(value=0.0) -> np.ndarray:
    return np.full(N, value, np.float32)


def is_shared(x: np.ndarray) -> bool:
    return any(entry.owner() is x for entry in adopt._known.values())


@shared_pages
def test_a_large_array_is_shared_and_keeps_its_contents(k):
    x, y = np.random.default_rng(0).random(N, np.float32), large()
    copy = x.copy()
    for _ in range(3):
        k.move_float[1](x, y, N)
        assert is_shared(x) and is_shared(y)
        assert (x == copy).all() and (y == copy).all()
        x += 1
        copy += 1
    x.flags.writeable = False
    k.move_float[1](x, y, N)
    assert (y == copy).all()
    found = refused(lambda: k.increment[1](x, y, 8))
    assert "argument x" in found.message


@shared_pages
def test_views_of_a_large_array(k):
    x = large()
    k.increment[1](x[3:N // 2 + 3], x[N // 2 + 5:], 1000)
    assert x[:3].tolist() == [0, 0, 0] and (x[3:1003] == 1).all() and x[1003] == 0
    assert (x[N // 2 + 5:][:1000] == 10).all() and x[N // 2 + 4] == 0
    k.increment[1](x, x[5:50], 45)                     # a small view of shared memory is the same memory
    assert x[5:45].tolist() == [12.0] * 40
    before = x[N // 2:].copy()
    refused(lambda: k.increment[1](x[:N // 2], large(), N // 2 + 1), "GM_OUT_OF_BOUNDS")
    assert (x[N // 2:] == before).all()               # the neighbour's data is put back


@shared_pages
def test_partial_pages_at_the_ends(k):
    x, y = large(1), large(2)
    for edge in (slice(0, 1), slice(0, 1100), slice(N - 1, N), slice(N - 1100, N)):
        x[edge] = 7
        k.move_float[1](x, y, N)
        assert (y == x).all()


@shared_pages
def test_freed_memory_is_given_back(k):
    x, y = large(), large()
    k.move_float[1](x, y, N)
    files = len(os.listdir("/proc/self/fd"))
    resident = status("RssShmem")
    del x
    assert len(os.listdir("/proc/self/fd")) < files
    assert status("RssShmem") < resident - N * 4 + (4 << 20)
    x = large(5)                                       # often at the very same address
    k.move_float[1](x, y, N)
    assert (y == 5).all()


@shared_pages
def test_resizing_is_refused_by_numpy(k):
    x, y = large(), large()
    k.move_float[1](x, y, N)
    with pytest.raises(ValueError, match="cannot resize"):
        x.resize(10, refcheck=False)


@shared_pages
def test_a_forked_child_has_arrays_of_its_own(k):
    x, y = large(1), large()
    k.move_float[1](x, y, N)
    pid = os.fork()
    if pid == 0:
        ok = False
        try:
            x[:] = 99
            k.increment[1](x, y, N)
            ok = bool((x == 100).all() and (y == 11).all())
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (x == 1).all() and (y == 1).all()
    k.increment[1](x, y, N)
    assert (x == 2).all() and (y == 11).all()


# ---- arrays of a few MB: shared from their second launch on, also inside malloc's heap
M = 1 << 20


def medium():
    """An array in a mapping of its own, and one in the heap: malloc moves its threshold when larger blocks are freed."""
    own = np.full(M, 1, np.float32)
    del_me = np.empty(24 << 20, np.uint8)
    del del_me
    return own, np.full(M, 2, np.float32)


def shared_mappings() -> int:
    return Path("/proc/self/maps").read_text().count("memfd:kernel-array ")


@shared_pages
def test_medium_arrays_are_shared_when_they_are_used_again(k):
    x, y = medium()
    k.move_float[1](x, y, 1000)
    assert not is_shared(x) and not is_shared(y) and (y[:1000] == 1).all() and (y[1000:] == 2).all()
    for value in (3, 4, 5):
        x[:1000] = value
        k.move_float[1](x, y, 1000)
        assert is_shared(x) and is_shared(y)
        assert (y[:1000] == value).all() and (y[1000:] == 2).all() and (x[1000:] == 1).all()
    assert {entry.heap for entry in adopt._known.values() if entry.owner() is y} == {True}
    small = np.zeros(1000, np.float32)
    for _ in range(3):
        k.move_float[1](x, small, 1000)
    assert not is_shared(small) and (small == 5).all()


@shared_pages
def test_one_launch_does_not_keep_numpy_from_resizing(k):
    adopt._seen.clear()                                # an earlier array may have lain at the same place
    x, y = np.ones(M, np.float32), np.zeros(M, np.float32)
    k.move_float[1](x, y, 1000)
    x.resize(10, refcheck=False)
    assert (x == 1).all()


@shared_pages
def test_a_piece_of_the_heap_is_private_again_when_the_array_ends(k):
    x, y = medium()
    before = shared_mappings()
    for _ in range(2):
        k.move_float[1](x, y, 1000)
    assert shared_mappings() > before
    seen = []

    class Last:                                        # garbage that still looks at the array when it is collected
        def __del__(self):
            seen.append(float(self.array.sum()))

    last = Last()
    last.array, last.me = y, last
    expected = float(y.sum())
    del x, y, last
    gc.collect()
    assert seen == [expected] and shared_mappings() == before


@shared_pages
def test_memory_of_others_is_copied(k):
    import mmap
    x = np.frombuffer(mmap.mmap(-1, N * 4), np.float32)
    y = large()
    x[:] = 3
    k.move_float[1](x, y, N)
    assert (y == 3).all() and not is_shared(x)
    lost = np.asarray(memoryview(y).cast("B")).view(np.float32)     # the same memory, its owner hidden behind a memoryview
    k.increment[1](lost, y, 5)
    assert y[:6].tolist() == [14] * 5 + [3]


def test_sharing_can_be_switched_off():
    script = textwrap.dedent("""
        import sys, numpy as np, helpers as hp
        from helpers import adopt
        k = hp.compile(sys.stdin.read(), name="move_float")
        x, y = np.full(9 << 20, 2, np.float32), np.zeros(9 << 20, np.float32)
        k[1](x, y, x.size)
        assert (y == x).all() and not adopt._known
    """)
    subprocess.run([sys.executable, "-c", script], input=SOURCE, text=True, check=True, env={**os.environ, adopt.SWITCH: "0"},
                   cwd=Path(__file__).parent.parent)


def test_without_memfd(tmp_path):
    """Systems without memfd_create use an unlinked temporary file."""
    script = textwrap.dedent("""
        import os, sys
        del os.memfd_create
        import numpy as np, helpers as hp
        k = hp.compile(sys.stdin.read(), name="move_float")
        for n in (5, 9 << 20):
            x, y = np.full(n, 2, np.float32), np.zeros(n, np.float32)
            run = k[1](x, y, x.size)
            assert (y == x).all() and run.time_us > 0
        assert not os.listdir(os.environ["TMPDIR"]), os.listdir(os.environ["TMPDIR"])
    """)
    subprocess.run([sys.executable, "-c", script], input=SOURCE, text=True, check=True, env={**os.environ, "TMPDIR": str(tmp_path)},
                   cwd=Path(__file__).parent.parent)


def status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def test_signature_is_read_from_the_compiled_code(k):
    assert str(k.scalars.signature[0]) == "float* out" and k.scalars.signature[-1].kind == STRUCT
    assert [p.name for p in k.scalars.signature] == ["out", "a", "b", "c", "d", "e", "f", "s"]
    assert all(p.kind == POINTER for p in k.addresses.signature)
    assert k.move_half.signature[0].dtype == CODE["float16"]
