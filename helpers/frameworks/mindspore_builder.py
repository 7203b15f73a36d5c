"""The other way into MindSpore: a C++ extension made by ops.CustomOpBuilder, which runs in PyNative only.

    rms_norm = mindspore_builder.build("rms_norm", eps=1e-6)     # the first build takes about a minute
    y = rms_norm(x, gamma)

It has no gradient of its own, and ms.grad through it gives zeros without a word: put it into a Cell with a bprop.
"""
from __future__ import annotations

from ..build.cache import default_root, key
from . import launcher, ops as catalogue
from .mindspore import ms

_TEXT = """\
// {name} as an extension of MindSpore: {inputs} tensors in, one out.
#include <stdexcept>
#include <string>
#include <vector>
#include "ms_extension/all.h"
#include "launcher.h"

class Twin : public ms::pynative::PyboostRunner {{
public:
    using PyboostRunner::PyboostRunner;

    void LaunchKernel() override {{
        std::vector<ms::Tensor> all = inputs();
        all.push_back(outputs()[0]);
        std::vector<workbook_tensor> tensors;
        for (auto& t : all) tensors.push_back({{const_cast<void*>(t.GetDataPtr()), name_of(t.data_type()), int32_t(t.shape().size()), t.shape().data()}});
        std::string words(16384, 0);
        if (workbook_launch("{plans}", {inputs}, 1, tensors.data(), &words[0], words.size()) != 0) throw std::runtime_error(words.c_str());
    }}

    static ms::Tensor Eval({parameters}) {{
        ms::Tensor out(t0.data_type(), t0.shape());            // of the shape of the first input
        auto runner = std::make_shared<Twin>("{name}");
        runner->Run({{{arguments}}}, {{out}});
        return out;
    }}

private:
    static const char* name_of(ms::TypeId type) {{
        return type == ms::TypeId::kNumberTypeFloat32 ? "float32" : type == ms::TypeId::kNumberTypeFloat16 ? "float16"
             : type == ms::TypeId::kNumberTypeBFloat16 ? "bfloat16" : "unknown";
    }}
}};

PYBIND11_MODULE(MS_EXTENSION_NAME, m) {{
    m.def("{name}", []({parameters}) {{ return ms::pynative::PyboostRunner::Call<1>(Twin::Eval, {arguments}); }});
}}
"""


def text(name: str, **attrs) -> str:
    """The C++ of the extension: an operator of kernels/ whose output looks like its first input."""
    found = catalogue.find(name)
    values = found.values(attrs)
    plans = launcher.plans_for(f"{name}_extension", repr(sorted(values.items())), launcher.op_planner(found, **values))
    count = len(found.inputs)
    return _TEXT.format(name=name, inputs=count, plans=plans, parameters=", ".join(f"const ms::Tensor& t{i}" for i in range(count)),
                        arguments=", ".join(f"t{i}" for i in range(count)))


def build(name: str, **attrs):
    """The function of the extension. It needs g++ and ninja."""
    source = text(name, **attrs)
    folder = default_root() / "extensions" / key(source, str(launcher.library()))[:16]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.cpp"
    if not file.exists():
        file.write_text(source)
    library = launcher.library()
    builder = ms.ops.CustomOpBuilder(f"workbook_{name}", [str(file)], backend="CPU", cflags=f"-w -I{launcher.HERE}",
                                     ldflags=str(library), build_dir=str(folder))
    return getattr(builder.load(), name)
