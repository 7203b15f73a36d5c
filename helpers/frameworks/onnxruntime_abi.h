// What a custom operator needs of ONNX Runtime's C interface, by the names of its official header onnxruntime_c_api.h.
// The Python package of ONNX Runtime ships no headers, and so we declare the few entries that we call. The interface is a
// table of functions to which entries are only ever appended: places below 102 have been fixed since its first version.
// Where the header of a release is at hand, include that instead: the code that uses these names stays as it is.
#pragma once
#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtCustomOp;
using OrtStatusPtr = OrtStatus*;

constexpr uint32_t ORT_API_VERSION = 16;       // ONNX Runtime 1.16: the first one whose kernels may return a status

enum OrtErrorCode { ORT_OK, ORT_FAIL, ORT_INVALID_ARGUMENT };
enum OrtMemType { OrtMemTypeDefault = 0 };
enum OrtCustomOpInputOutputCharacteristic { INPUT_OUTPUT_REQUIRED = 0, INPUT_OUTPUT_OPTIONAL, INPUT_OUTPUT_VARIADIC };
enum ONNXTensorElementDataType {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
};

struct OrtApi {
    OrtStatus* (*CreateStatus)(OrtErrorCode code, const char* message);                                     // place 0
    void* places_1_to_25[25];
    OrtStatus* (*CreateCustomOpDomain)(const char* domain, OrtCustomOpDomain** out);
    OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain* domain, const OrtCustomOp* op);
    OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions* options, OrtCustomOpDomain* domain);
    void* places_29_to_50[22];
    OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** out);                                        // place 51
    void* places_52_to_59[8];
    OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out);
    OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out);
    OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* values, size_t count);
    void* places_63_to_64[2];
    OrtStatus* (*GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out);            // place 65
    void* places_66_to_84[19];
    OrtStatus* (*KernelInfoGetAttribute_float)(const OrtKernelInfo* info, const char* name, float* out);    // place 85
    OrtStatus* (*KernelInfoGetAttribute_int64)(const OrtKernelInfo* info, const char* name, int64_t* out);
    void* places_87_to_89[3];
    OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext* context, size_t index, const OrtValue** out);
    OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext* context, size_t index, const int64_t* shape, size_t rank, OrtValue** out);
    void* place_92;
    void (*ReleaseStatus)(OrtStatus* status);                                                               // place 93
    void* places_94_to_98[5];
    void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* info);                                 // place 99
};
static_assert(offsetof(OrtApi, CreateCustomOpDomain) == 26 * sizeof(void*) && offsetof(OrtApi, GetTensorTypeAndShape) == 65 * sizeof(void*) &&
              offsetof(OrtApi, KernelInfoGetAttribute_float) == 85 * sizeof(void*) && offsetof(OrtApi, ReleaseTensorTypeAndShapeInfo) == 99 * sizeof(void*),
              "an entry has left its place");

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t version);      // null: this ONNX Runtime is older
    const char* (*GetVersionString)();
};

// One operator for one combination of types. ONNX Runtime reads the members that `version` knows.
struct OrtCustomOp {
    uint32_t version;
    void* (*CreateKernel)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
    const char* (*GetName)(const OrtCustomOp* op);
    const char* (*GetExecutionProviderType)(const OrtCustomOp* op);
    ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp* op, size_t index);
    size_t (*GetInputTypeCount)(const OrtCustomOp* op);
    ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp* op, size_t index);
    size_t (*GetOutputTypeCount)(const OrtCustomOp* op);
    void (*KernelCompute)(void* kernel, OrtKernelContext* context);
    void (*KernelDestroy)(void* kernel);
    OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp* op, size_t index);
    OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp* op, size_t index);
    OrtMemType (*GetInputMemoryType)(const OrtCustomOp* op, size_t index);
    int (*GetVariadicInputMinArity)(const OrtCustomOp* op);
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp* op);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp* op);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp* op);
    OrtStatusPtr (*CreateKernelV2)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel);
    OrtStatusPtr (*KernelComputeV2)(void* kernel, OrtKernelContext* context);
};
