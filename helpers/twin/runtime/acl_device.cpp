// Process, device and context calls of a host program.
#include <cstdlib>
#include <sstream>

#include "acl_state.h"

namespace twin {
namespace acl {

double chip_number(const char* key, double otherwise);
std::string chip_name();

static Context* make_context(int device, At at, bool implicit) {
    auto c = std::make_unique<Context>();
    c->device = device;
    c->at = at;
    c->implicit = implicit;
    Context* raw = c.get();
    world().contexts[raw] = std::move(c);
    return raw;
}

// Streams and events of a context go with it; waiting tasks are dropped.
static void drop_streams(Context* c) {
    auto& streams = world().streams;
    for (auto it = streams.begin(); it != streams.end();) it = it->second->context == c ? streams.erase(it) : std::next(it);
    for (auto& [h, e] : world().events) e->stream = nullptr;
}

}  // namespace acl
}  // namespace twin

using namespace twin::acl;
using twin::At;

aclError aclInit(const char*, At at) {
    Call c("aclInit", at);
    World& w = world();
    if (w.initialised) return c.fail(ACL_ERROR_REPEAT_INITIALIZE, "HOST_ARGUMENT", "it is called a second time", "Call it once per process; a framework may have done it already.");
    w.initialised = true;
    w.finalised = false;
    watch_faults();
    return c.ok();
}
aclError aclFinalize(At at) {
    Call c("aclFinalize", at);
    World& w = world();
    if (!w.initialised) {
        if (w.finalised) return c.fail(ACL_ERROR_REPEAT_FINALIZE, "HOST_ARGUMENT", "it is called a second time", "Call it once, as the last ACL call.");
        return c.fail(ACL_ERROR_UNINITIALIZE, "HOST_ARGUMENT", "aclInit has not been called", "Call aclInit(nullptr) first.");
    }
    drain_all();
    report_leaks(at, "At aclFinalize");
    w.initialised = false;
    w.finalised = true;
    for (auto& [p, a] : w.memory) if (!a->freed) release(*a, at);
    w.streams.clear();
    w.events.clear();
    w.contexts.clear();
    w.of_device.clear();
    current() = nullptr;
    return c.ok();
}
aclError aclrtGetVersion(int32_t* a, int32_t* b, int32_t* d) { *a = 1; *b = *d = 0; return ACL_SUCCESS; }
const char* aclrtGetSocName() { static std::string name; name = chip_name(); return name.c_str(); }
const char* aclGetRecentErrMsg() { return recent_message(); }
aclError aclrtGetLastError(aclrtLastErrLevel) { return last_error(true); }
aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return last_error(false); }

aclError aclrtSetDevice(int32_t device, At at) {
    Call c("aclrtSetDevice", at);
    World& w = world();
    if (!w.initialised) return c.fail(ACL_ERROR_UNINITIALIZE, "HOST_ARGUMENT", "aclInit has not been called", "Call aclInit(nullptr) first.");
    if (device != 0) return c.fail(ACL_ERROR_RT_INVALID_DEVICEID, "HOST_ARGUMENT", text("there is no device %d: the twin has one, number 0", device), "aclrtGetDeviceCount says how many there are.");
    Context*& own = w.of_device[device];
    if (!own) own = make_context(device, at, true);
    current() = own;
    return c.ok();
}
aclError aclrtGetDevice(int32_t* device, At at) {
    Call c("aclrtGetDevice", at);
    aclError code;
    if (!c.ready(code)) return code;
    *device = current()->device;
    return c.ok();
}
static aclError reset_device(Call& c, int32_t device) {
    World& w = world();
    if (!w.initialised || device != 0) return c.fail(w.initialised ? ACL_ERROR_RT_INVALID_DEVICEID : ACL_ERROR_UNINITIALIZE, "HOST_ARGUMENT", w.initialised ? "there is no such device" : "aclInit has not been called", "Reset the device that was set, once.");
    auto own = w.of_device.find(device);
    if (own == w.of_device.end()) return c.fail(ACL_ERROR_RT_CONTEXT_NULL, "HOST_ARGUMENT", "the device was not set, or reset already", "Reset a device once for every aclrtSetDevice.");
    drain_all();
    report_leaks(c.at, c.name);
    for (auto& [p, a] : w.memory) if (!a->freed && a->side == Side::Device) release(*a, c.at);
    w.events.clear();
    while (!w.contexts.empty()) { drop_streams(w.contexts.begin()->second.get()); w.contexts.erase(w.contexts.begin()); }
    w.of_device.clear();
    current() = nullptr;
    return c.ok();
}
aclError aclrtResetDevice(int32_t device, At at) { Call c("aclrtResetDevice", at); return reset_device(c, device); }
aclError aclrtResetDeviceForce(int32_t device, At at) { Call c("aclrtResetDeviceForce", at); return reset_device(c, device); }
aclError aclrtGetDeviceCount(uint32_t* count) { *count = 1; return ACL_SUCCESS; }
aclError aclrtGetRunMode(aclrtRunMode* mode, At at) { Call c("aclrtGetRunMode", at); *mode = ACL_HOST; return c.ok(); }

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total, At at) {
    Call c("aclrtGetMemInfo", at);
    aclError code;
    if (!c.ready(code)) return code;
    const char* mb = getenv("TWIN_DEVICE_MB");
    *total = size_t(mb ? atoll(mb) : 4096) << 20;
    *free = *total - world().device_bytes;
    return c.ok();
}
aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr attr, int64_t* value, At at) {
    Call c("aclrtGetDeviceInfo", at);
    const char* key = attr == ACL_DEV_ATTR_AICORE_CORE_NUM || attr == ACL_DEV_ATTR_CUBE_CORE_NUM ? "aic_cores" : attr == ACL_DEV_ATTR_VECTOR_CORE_NUM ? "aiv_cores"
                    : attr == ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE ? "ub_bytes" : attr == ACL_DEV_ATTR_L2_CACHE_SIZE ? "l2_bytes" : attr == ACL_DEV_ATTR_NPU_ARCH ? "npu_arch" : nullptr;
    if (!key) return c.fail(200001, "UNSUPPORTED_API", text("attribute %d is not known to the twin", int(attr)), "Ask for core counts, UB, L2 or the arch.");
    *value = int64_t(chip_number(key, 0));
    return c.ok();
}
aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo info, int64_t* value, At at) {
    Call c("aclGetDeviceCapability", at);
    *value = int64_t(chip_number(info == ACL_DEVICE_INFO_AI_CORE_NUM ? "aic_cores" : info == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? "aiv_cores" : "l2_bytes", 0));
    return c.ok();
}

// ===== Context
aclError aclrtCreateContext(aclrtContext* out, int32_t device, At at) {
    Call c("aclrtCreateContext", at);
    if (!world().initialised) return c.fail(ACL_ERROR_UNINITIALIZE, "HOST_ARGUMENT", "aclInit has not been called", "Call aclInit(nullptr) first.");
    if (device != 0 || !out) return c.fail(device ? ACL_ERROR_RT_INVALID_DEVICEID : ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", device ? text("there is no device %d", device) : "the first argument is a null pointer", "The twin has one device, number 0.");
    current() = make_context(device, at, false);
    *out = current();
    return c.ok();
}
aclError aclrtDestroyContext(aclrtContext handle, At at) {
    Call c("aclrtDestroyContext", at);
    World& w = world();
    auto it = w.contexts.find(handle);
    if (it == w.contexts.end() || it->second->implicit) return c.fail(ACL_ERROR_RT_CONTEXT_NULL, "HOST_ARGUMENT", "the context does not exist, or belongs to aclrtSetDevice", "Destroy each context that aclrtCreateContext made, once.");
    size_t streams = 0;
    for (auto& [h, s] : w.streams) streams += s->context == it->second.get();
    if (streams) note_finding("LEAK", 1, at, text("aclrtDestroyContext: the context still has %zu stream%s.", streams, streams == 1 ? "" : "s"), "Destroy streams before their context.");
    drop_streams(it->second.get());
    if (current() == it->second.get()) current() = w.of_device.count(0) ? w.of_device[0] : nullptr;
    w.contexts.erase(it);
    return c.ok();
}
aclError aclrtSetCurrentContext(aclrtContext handle, At at) {
    Call c("aclrtSetCurrentContext", at);
    auto it = world().contexts.find(handle);
    if (it == world().contexts.end()) return c.fail(ACL_ERROR_RT_CONTEXT_NULL, "HOST_ARGUMENT", "the context does not exist", "Create it with aclrtCreateContext, and use it before it is destroyed.");
    current() = it->second.get();
    return c.ok();
}
aclError aclrtGetCurrentContext(aclrtContext* out, At at) {
    Call c("aclrtGetCurrentContext", at);
    aclError code;
    if (!c.ready(code)) return code;
    *out = current();
    return c.ok();
}
