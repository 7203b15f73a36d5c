// Streams keep their tasks until somebody waits for them, as a launch on the device only queues; events carry the
// estimated time of their stream.
#include <algorithm>

#include "acl_state.h"

namespace twin {
namespace acl {

Stream* stream_of(void* handle) {
    Context* c = current();
    if (!c) return nullptr;
    if (!handle) {
        if (!c->standard) { c->standard = std::make_unique<Stream>(); c->standard->context = c; }
        return c->standard.get();
    }
    auto it = world().streams.find(handle);
    return it != world().streams.end() && it->second->context == c ? it->second.get() : nullptr;
}

void add_task(Stream& s, Task t) { s.tasks.push_back(std::move(t)); }

// A kernel that stopped with an error stops its stream: what waits behind it does not run.
aclError drain(Stream& s) {
    if (s.running) return ACL_SUCCESS;
    s.running = true;
    while (!s.tasks.empty()) {
        Task t = std::move(s.tasks.front());
        s.tasks.pop_front();
        if (s.failed) continue;
        if (aclError e = t.run()) s.failed = e;
    }
    s.running = false;
    return s.failed;
}

static void each_stream(const std::function<void(Stream&)>& f) {
    for (auto& [h, c] : world().contexts) if (c->standard) f(*c->standard);
    for (auto& [h, s] : world().streams) f(*s);
}

aclError drain_all() {
    aclError first = ACL_SUCCESS;
    each_stream([&](Stream& s) { if (aclError e = drain(s); e && !first) first = e; });
    return first;
}

const Task* user_of(const Allocation* a, Stream** where) {
    const Task* found = nullptr;
    each_stream([&](Stream& s) {
        for (const Task& t : s.tasks)
            if (!found && t.launch && std::find(t.uses.begin(), t.uses.end(), a) != t.uses.end()) { found = &t; if (where) *where = &s; }
    });
    return found;
}

static std::shared_ptr<Event> event_of(void* handle) {
    auto it = world().events.find(handle);
    return it == world().events.end() ? nullptr : it->second;
}
static aclError bad_stream(Call& c) { return c.fail(ACL_ERROR_RT_STREAM_CONTEXT, "HOST_ARGUMENT", "the stream does not exist, or belongs to another context", "Use a stream of this context that has not been destroyed."); }
static aclError bad_event(Call& c) { return c.fail(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", "the event does not exist", "Create it with aclrtCreateEvent, and use it before aclrtDestroyEvent."); }

static aclError finish(Call& c, aclError code, int stream) {
    if (!code) return c.ok("", stream);
    set_recent(code, text("%s: a kernel of this stream has stopped with an error (%d)", c.name, code));
    return c.end(code, "", stream);
}

}  // namespace acl
}  // namespace twin

using namespace twin::acl;
using twin::At;

static aclError create_stream(Call& c, aclrtStream* out) {
    aclError code;
    if (!c.ready(code)) return code;
    if (!out) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "the argument is a null pointer", "Pass the address of an aclrtStream.");
    auto s = std::make_unique<Stream>();
    s->number = ++world().streams_made;
    s->context = current();
    s->at = c.at;
    const int number = s->number;
    *out = s.get();
    world().streams[s.get()] = std::move(s);
    return c.ok("", number);
}
aclError aclrtCreateStream(aclrtStream* s, At at) { Call c("aclrtCreateStream", at); return create_stream(c, s); }
aclError aclrtCreateStreamWithConfig(aclrtStream* s, uint32_t, uint32_t, At at) { Call c("aclrtCreateStreamWithConfig", at); return create_stream(c, s); }

static aclError destroy_stream(Call& c, aclrtStream handle, bool force) {
    aclError code;
    if (!c.ready(code)) return code;
    auto it = world().streams.find(handle);
    if (it == world().streams.end()) return c.fail(ACL_ERROR_RT_STREAM_CONTEXT, "HOST_ARGUMENT", "the stream does not exist: it was never created, or destroyed already", "Destroy each stream once.");
    Stream& s = *it->second;
    const int number = s.number;
    if (!s.tasks.empty() && !force) {
        note_finding("MISSING_SYNC", 1, c.at, text("%s: %zu tasks are still queued on stream %d, the first is %s (%s); they run now.", c.name, s.tasks.size(), number, s.tasks.front().what.c_str(), place(s.tasks.front().at).c_str()),
                     "Call aclrtSynchronizeStream before destroying the stream.");
        drain(s);
    }
    for (auto& [h, e] : world().events) if (e->stream == &s) e->stream = nullptr;
    world().streams.erase(it);
    return c.ok("", number);
}
aclError aclrtDestroyStream(aclrtStream s, At at) { Call c("aclrtDestroyStream", at); return destroy_stream(c, s, false); }
aclError aclrtDestroyStreamForce(aclrtStream s, At at) { Call c("aclrtDestroyStreamForce", at); return destroy_stream(c, s, true); }

static aclError synchronise(Call& c, aclrtStream handle) {
    aclError code;
    if (!c.ready(code)) return code;
    Stream* s = stream_of(handle);
    if (!s) return bad_stream(c);
    return finish(c, drain(*s), s->number);
}
aclError aclrtSynchronizeStream(aclrtStream s, At at) { Call c("aclrtSynchronizeStream", at); return synchronise(c, s); }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream s, int32_t, At at) { Call c("aclrtSynchronizeStreamWithTimeout", at); return synchronise(c, s); }
static aclError synchronise_device(Call& c) {
    aclError code;
    return c.ready(code) ? finish(c, drain_all(), -2) : code;
}
aclError aclrtSynchronizeDevice(At at) { Call c("aclrtSynchronizeDevice", at); return synchronise_device(c); }
aclError aclrtSynchronizeDeviceWithTimeout(int32_t, At at) { Call c("aclrtSynchronizeDeviceWithTimeout", at); return synchronise_device(c); }

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status, At at) {
    Call c("aclrtStreamQuery", at);
    aclError code;
    if (!c.ready(code)) return code;
    Stream* s = stream_of(handle);
    if (!s) return bad_stream(c);
    *status = s->tasks.empty() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    drain(*s);                                   // a program that asks in a loop must see an end
    return c.ok("", s->number);
}
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t, At at) { Call c("aclrtSetStreamFailureMode", at); return c.ok(); }
aclError aclrtSetOpExecuteTimeOut(uint32_t, At at) { Call c("aclrtSetOpExecuteTimeOut", at); return c.ok(); }

// ===== Events
static aclError create_event(Call& c, aclrtEvent* out, uint32_t flag) {
    aclError code;
    if (!c.ready(code)) return code;
    if (!out) return c.fail(ACL_ERROR_INVALID_PARAM, "HOST_ARGUMENT", "the argument is a null pointer", "Pass the address of an aclrtEvent.");
    auto e = std::make_shared<Event>();
    e->at = c.at;
    e->sync_only = flag == ACL_EVENT_SYNC;
    *out = e.get();
    world().events[e.get()] = e;
    return c.ok();
}
aclError aclrtCreateEvent(aclrtEvent* e, At at) { Call c("aclrtCreateEvent", at); return create_event(c, e, 0); }
aclError aclrtCreateEventWithFlag(aclrtEvent* e, uint32_t flag, At at) { Call c("aclrtCreateEventWithFlag", at); return create_event(c, e, flag); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* e, uint32_t flag, At at) { Call c("aclrtCreateEventExWithFlag", at); return create_event(c, e, flag); }
aclError aclrtDestroyEvent(aclrtEvent e, At at) {
    Call c("aclrtDestroyEvent", at);
    aclError code;
    if (!c.ready(code)) return code;
    return world().events.erase(e) ? c.ok() : bad_event(c);
}
aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream, At at) {
    Call c("aclrtRecordEvent", at);
    aclError code;
    if (!c.ready(code)) return code;
    auto e = event_of(handle);
    Stream* s = stream_of(stream);
    if (!e) return bad_event(c);
    if (!s) return bad_stream(c);
    e->recorded = true;
    e->done = false;
    e->recorded_at = at;
    e->stream = s;
    Task t;
    t.what = c.name;
    t.at = at;
    t.event = e;
    t.run = [e, s] { e->ns = s->clock_ns; e->done = true; return aclError(ACL_SUCCESS); };
    add_task(*s, std::move(t));
    return c.ok("", s->number);
}
aclError aclrtResetEvent(aclrtEvent handle, aclrtStream, At at) {
    Call c("aclrtResetEvent", at);
    auto e = event_of(handle);
    if (!e) return bad_event(c);
    e->recorded = e->done = false;
    return c.ok();
}
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent handle, At at) {
    Call c("aclrtStreamWaitEvent", at);
    aclError code;
    if (!c.ready(code)) return code;
    auto e = event_of(handle);
    Stream* s = stream_of(stream);
    if (!e) return bad_event(c);
    if (!s) return bad_stream(c);
    Task t;
    t.what = c.name;
    t.at = at;
    t.run = [e, s] {
        if (e->recorded && !e->done && e->stream) drain(*e->stream);
        s->clock_ns = std::max(s->clock_ns, e->ns);
        return aclError(ACL_SUCCESS);
    };
    add_task(*s, std::move(t));
    return c.ok("", s->number);
}
aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status, At at) {
    Call c("aclrtQueryEventStatus", at);
    auto e = event_of(handle);
    if (!e) return bad_event(c);
    *status = e->done ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (!e->done && e->stream) drain(*e->stream);
    return c.ok();
}
aclError aclrtQueryEvent(aclrtEvent handle, aclrtEventStatus* status, At at) {
    aclrtEventRecordedStatus s = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (aclError code = aclrtQueryEventStatus(handle, &s, at)) return code;
    *status = s == ACL_EVENT_RECORDED_STATUS_COMPLETE ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
}
static aclError synchronise_event(Call& c, aclrtEvent handle) {
    aclError code;
    if (!c.ready(code)) return code;
    auto e = event_of(handle);
    if (!e) return bad_event(c);
    if (!e->recorded) return c.fail(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", "the event was never recorded", "Call aclrtRecordEvent on a stream first.");
    return finish(c, !e->done && e->stream ? drain(*e->stream) : ACL_SUCCESS, e->stream ? e->stream->number : -1);
}
aclError aclrtSynchronizeEvent(aclrtEvent e, At at) { Call c("aclrtSynchronizeEvent", at); return synchronise_event(c, e); }
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent e, int32_t, At at) { Call c("aclrtSynchronizeEventWithTimeout", at); return synchronise_event(c, e); }

aclError aclrtEventElapsedTime(float* ms, aclrtEvent a, aclrtEvent b, At at) {
    Call c("aclrtEventElapsedTime", at);
    aclError code;
    if (!c.ready(code)) return code;
    auto start = event_of(a), end = event_of(b);
    if (!start || !end) return bad_event(c);
    if (!start->recorded || !end->recorded || start->sync_only || end->sync_only)
        return c.fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "HOST_ARGUMENT", "one of the events carries no time", "Create events with aclrtCreateEvent and record both.");
    if (!start->done || !end->done) return c.fail(507006, "HOST_ARGUMENT", "the stream has not reached the events yet", "Call aclrtSynchronizeStream before asking for the time.");
    if (end->ns < start->ns) return c.fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "HOST_ARGUMENT", "the end event lies before the start event", "Exchange the two arguments.");
    *ms = float((end->ns - start->ns) / 1e6);    // estimated, as every time of the twin
    return c.ok();
}
