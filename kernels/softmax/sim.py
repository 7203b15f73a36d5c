"""softmax as a NumPy tiling simulation: one row at a time in half, float inside, as v1 does it."""
import helpers as hp


@hp.ubsim
def softmax(core, x, y):
    rows, length = x.shape
    per_block, extra = divmod(rows, core.blocks)
    first = core.block * per_block + min(core.block, extra)
    size, wide_size = -(-length * 2 // 32) * 32, -(-length * 4 // 32) * 32
    in_queue, out_queue = core.TQue("VECIN", num=2, length=size), core.TQue("VECOUT", num=2, length=size)
    wide_buf, work_buf, result_buf = core.TBuf(length=wide_size), core.TBuf(length=length // 64 * 8 + 96), core.TBuf(length=32)
    for row in range(first, first + per_block + (core.block < extra)):
        # CopyIn
        x_local = in_queue.AllocTensor(x.dtype)
        core.DataCopyPad(x_local, x[row])
        in_queue.EnQue(x_local)
        # Compute
        x_local, y_local = in_queue.DeQue(), out_queue.AllocTensor(x.dtype)
        wide, work, result = wide_buf.Get("float32"), work_buf.Get("float32"), result_buf.Get("float32")
        core.Cast(wide, x_local, "CAST_NONE", length)
        core.ReduceMax(result, wide, work, length)
        core.Adds(wide, wide, -result[0], length)
        core.Exp(wide, wide, length)
        core.ReduceSum(result, wide, work, length)
        core.Muls(wide, wide, 1 / result[0], length)
        core.Cast(y_local, wide, "CAST_RINT", length)
        out_queue.EnQue(y_local)
        in_queue.FreeTensor(x_local)
        # CopyOut
        y_local = out_queue.DeQue()
        core.DataCopyPad(y[row], y_local)
        out_queue.FreeTensor(y_local)
