"""add as a NumPy tiling simulation. Its arguments make it any version of the ladder from v1 on; the defaults are v6."""
import helpers as hp


@hp.ubsim
def add(core, x, y, z, share, tile=16_256, buffers=2, bypass=True, shift=256):
    first, end = core.block * share, min((core.block + 1) * share, x.size)
    if first >= end:
        return                                   # more blocks than shares
    if bypass:
        x.SetL2CacheHint("CACHE_MODE_DISABLE")
        y.SetL2CacheHint("CACHE_MODE_DISABLE")
    in_x = core.TQue("VECIN", num=buffers, length=tile * x.itemsize)
    if shift:
        core.TBuf(length=shift)                  # moves in_y by half a bank row
    in_y = core.TQue("VECIN", num=buffers, length=tile * x.itemsize)
    out_z = core.TQue("VECOUT", num=buffers, length=tile * x.itemsize)

    for start in range(first, end, tile):
        piece = slice(start, min(start + tile, end))
        count = piece.stop - piece.start
        # CopyIn
        x_local, y_local = in_x.AllocTensor(x.dtype), in_y.AllocTensor(x.dtype)
        core.DataCopyPad(x_local, x[piece])
        core.DataCopyPad(y_local, y[piece])
        in_x.EnQue(x_local)
        in_y.EnQue(y_local)
        # Compute
        x_local, y_local, z_local = in_x.DeQue(), in_y.DeQue(), out_z.AllocTensor(x.dtype)
        core.Add(z_local, x_local, y_local, count)
        out_z.EnQue(z_local)
        in_x.FreeTensor(x_local)
        in_y.FreeTensor(y_local)
        # CopyOut
        z_local = out_z.DeQue()
        core.DataCopyPad(z[piece], z_local)
        out_z.FreeTensor(z_local)
