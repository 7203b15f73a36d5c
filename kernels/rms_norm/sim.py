"""rms_norm as a NumPy tiling simulation: row by row in float, as v2 does it."""
import helpers as hp


@hp.ubsim
def rms_norm(core, x, gamma, y, eps=1e-6):
    rows, length = x.shape
    size = -(-length * 4 // 32) * 32
    gamma_queue, in_queue = core.TQue("VECIN", num=1, length=size), core.TQue("VECIN", num=1, length=size)
    out_queue = core.TQue("VECOUT", num=1, length=size)
    square_buf, work_buf, sum_buf = core.TBuf(length=size), core.TBuf(length=(length // 64 * 4 + 63) // 32 * 32), core.TBuf(length=32)

    local = gamma_queue.AllocTensor(gamma.dtype)
    core.DataCopyPad(local, gamma[0:length])
    gamma_queue.EnQue(local)
    gamma_local = gamma_queue.DeQue()
    for row in range(rows):
        # CopyIn
        x_local = in_queue.AllocTensor(x.dtype)
        core.DataCopyPad(x_local, x[row])
        in_queue.EnQue(x_local)
        # Compute
        x_local, y_local = in_queue.DeQue(), out_queue.AllocTensor(x.dtype)
        square, work, total = square_buf.Get(x.dtype), work_buf.Get(x.dtype), sum_buf.Get(x.dtype)
        core.Mul(square, x_local, x_local, length)
        core.ReduceSum(total, square, work, length)
        core.Muls(total, total, 1 / length, 1)
        core.Adds(total, total, eps, 1)
        core.Sqrt(total, total, 1)
        core.Muls(x_local, x_local, 1 / total[0], length)
        core.Mul(y_local, x_local, gamma_local, length)
        out_queue.EnQue(y_local)
        in_queue.FreeTensor(x_local)
        # CopyOut
        y_local = out_queue.DeQue()
        core.DataCopyPad(y[row], y_local)
        out_queue.FreeTensor(y_local)
    gamma_queue.FreeTensor(gamma_local)
