// The kernels of the course as custom operators of ONNX Runtime: register_custom_ops_library loads this library.
// onnxruntime_table.h, written for each build, lists the operators: names, types, attributes, folder of plans.
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher.h"
#include "onnxruntime_abi.h"

namespace {

struct Attribute {
    const char* name;
    bool whole;                                             // INT in the model, else FLOAT
    double usual;
};

struct Row {
    const char* name;                                       // op_type in the model
    std::vector<ONNXTensorElementDataType> inputs, outputs;
    std::vector<Attribute> attributes;
    const char* plans;
};

#include "onnxruntime_table.h"                              // DOMAIN_NAME, ROWS

struct Op : OrtCustomOp {
    const Row* row;
};

const Row& row_of(const OrtCustomOp* op) { return *static_cast<const Op*>(op)->row; }

// A status that ends the scope; ONNX Runtime passes its text on as an exception.
#define RETURN_IF_FAILED(call)               \
    if (OrtStatus* status_ = (call)) {       \
        return status_;                      \
    }

const char* name_of(ONNXTensorElementDataType type) {
    switch (type) {
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT: return "float32";
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16: return "float16";
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16: return "bfloat16";
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8: return "uint8";
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return "int32";
        default: return "";
    }
}

struct Kernel {
    const OrtApi& api;
    const Row& row;
    std::string plans;                                      // folder of plans for the attributes of this node

    OrtStatus* read(const OrtValue* value, std::vector<int64_t>& shape, workbook_tensor& tensor) const {
        OrtTensorTypeAndShapeInfo* raw = nullptr;
        RETURN_IF_FAILED(api.GetTensorTypeAndShape(value, &raw));
        std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(raw, api.ReleaseTensorTypeAndShapeInfo);
        ONNXTensorElementDataType type{};
        size_t rank = 0;
        RETURN_IF_FAILED(api.GetTensorElementType(raw, &type));
        RETURN_IF_FAILED(api.GetDimensionsCount(raw, &rank));
        shape.resize(rank);
        RETURN_IF_FAILED(api.GetDimensions(raw, shape.data(), rank));
        void* data = nullptr;
        RETURN_IF_FAILED(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data));
        tensor = {data, name_of(type), static_cast<int32_t>(rank), shape.data()};
        return nullptr;
    }

    // Every output has the shape of the first input.
    OrtStatus* compute(OrtKernelContext* context) const {
        size_t inputs = row.inputs.size(), outputs = row.outputs.size();
        std::vector<std::vector<int64_t>> shapes(inputs);
        std::vector<workbook_tensor> tensors(inputs + outputs);
        for (size_t i = 0; i < inputs; ++i) {
            const OrtValue* value = nullptr;
            RETURN_IF_FAILED(api.KernelContext_GetInput(context, i, &value));
            RETURN_IF_FAILED(read(value, shapes[i], tensors[i]));
        }
        for (size_t i = 0; i < outputs; ++i) {
            OrtValue* value = nullptr;
            RETURN_IF_FAILED(api.KernelContext_GetOutput(context, i, shapes[0].data(), shapes[0].size(), &value));
            tensors[inputs + i] = {nullptr, name_of(row.outputs[i]), tensors[0].rank, shapes[0].data()};
            RETURN_IF_FAILED(api.GetTensorMutableData(value, &tensors[inputs + i].data));
        }
        for (int64_t size : shapes[0]) {
            if (size == 0) return nullptr;
        }
        char error[4096] = "";
        int status = workbook_launch(plans.c_str(), int(inputs), int(outputs), tensors.data(), error, sizeof error);
        return status == WORKBOOK_DONE ? nullptr : api.CreateStatus(status == WORKBOOK_MISMATCH ? ORT_INVALID_ARGUMENT : ORT_FAIL, error);
    }
};

OrtStatus* create(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
    const Row& row = row_of(op);
    std::string numbers;
    for (const Attribute& a : row.attributes) {
        float number = 0;
        int64_t whole = 0;
        OrtStatus* missing = a.whole ? api->KernelInfoGetAttribute_int64(info, a.name, &whole) : api->KernelInfoGetAttribute_float(info, a.name, &number);
        double value = missing ? a.usual : a.whole ? double(whole) : double(number);
        if (missing) api->ReleaseStatus(missing);
        char text[64];
        snprintf(text, sizeof text, "%c%s=%.9g", numbers.empty() ? '/' : ',', a.name, value);
        numbers += text;
    }
    *kernel = new Kernel{*api, row, row.plans + numbers};
    return nullptr;
}

Op make(const Row& row) {
    Op op{};
    op.row = &row;
    op.version = ORT_API_VERSION;
    op.GetName = [](const OrtCustomOp* o) { return row_of(o).name; };
    op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return "CPUExecutionProvider"; };
    op.GetInputTypeCount = [](const OrtCustomOp* o) { return row_of(o).inputs.size(); };
    op.GetInputType = [](const OrtCustomOp* o, size_t i) { return row_of(o).inputs[i]; };
    op.GetOutputTypeCount = [](const OrtCustomOp* o) { return row_of(o).outputs.size(); };
    op.GetOutputType = [](const OrtCustomOp* o, size_t i) { return row_of(o).outputs[i]; };
    op.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    op.GetVariadicInputMinArity = op.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    op.GetVariadicOutputMinArity = op.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    op.CreateKernelV2 = create;
    op.KernelComputeV2 = [](void* kernel, OrtKernelContext* context) { return static_cast<Kernel*>(kernel)->compute(context); };
    op.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    return op;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
    const OrtApi* api = base->GetApi(ORT_API_VERSION);
    if (!api) {
        std::string text = std::string("The operators of domain ") + DOMAIN_NAME + " need ONNX Runtime 1.16 or newer; this is " + base->GetVersionString();
        return base->GetApi(1)->CreateStatus(ORT_FAIL, text.c_str());
    }
    static std::mutex once;
    static OrtCustomOpDomain* domain = nullptr;             // lives as long as the process: sessions keep pointers to it
    static std::vector<Op> ops;
    std::lock_guard<std::mutex> hold(once);
    if (!domain) {
        for (const Row& row : ROWS) ops.push_back(make(row));
        RETURN_IF_FAILED(api->CreateCustomOpDomain(DOMAIN_NAME, &domain));
        for (const Op& op : ops) RETURN_IF_FAILED(api->CustomOpDomain_Add(domain, &op));
    }
    return api->AddCustomOpDomain(options, domain);
}
