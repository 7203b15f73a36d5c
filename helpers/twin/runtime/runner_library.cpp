#include "runner_library.h"

#include <dlfcn.h>
#ifdef __linux__
#include <elf.h>
#include <link.h>
#endif

#include <algorithm>
#include <cstring>

namespace twin {

namespace {
#ifdef __linux__
struct Found {
    ElfW(Addr) base;
    std::vector<std::pair<char*, size_t>> writable;
    bool seen = false, threads = false;              // thread_local variables live elsewhere
};

int look(dl_phdr_info* info, size_t, void* data) {
    auto& f = *static_cast<Found*>(data);
    if (info->dlpi_addr != f.base) return 0;
    f.seen = true;
    ElfW(Addr) fixed_lo = 0, fixed_hi = 0;           // relocated once, then read-only
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        if (p.p_type == PT_TLS) f.threads = true;
        if (p.p_type == PT_GNU_RELRO) { fixed_lo = p.p_vaddr; fixed_hi = p.p_vaddr + p.p_memsz; }
    }
    fixed_hi &= ~ElfW(Addr)(4095);                   // the loader protects whole pages only
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_W)) continue;
        ElfW(Addr) lo = p.p_vaddr, hi = p.p_vaddr + p.p_memsz;
        if (fixed_lo <= lo && lo < fixed_hi) lo = std::min(fixed_hi, hi);
        if (lo < hi) f.writable.emplace_back(reinterpret_cast<char*>(f.base + lo), size_t(hi - lo));
    }
    return 1;
}

// Constructors of variables may have asked for memory of their own; one entry is the compiler's.
bool has_constructors(const link_map& map) {
    for (const ElfW(Dyn)* d = map.l_ld; d && d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_INIT_ARRAYSZ) return d->d_un.d_val > sizeof(void*);
    return false;
}
#endif
}  // namespace

bool KernelLibrary::unload() {
    if (!handle_) return true;
    dlclose(handle_);
    handle_ = nullptr;
    variables_.clear();
    plain_ = false;
    // Some variables of templates keep a library in memory for good.
    void* still = dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return still == nullptr;
}

bool KernelLibrary::stuck(const std::string& path) {
    if (!handle_ || (path == path_ && plain_)) return false;
    return !unload();
}

std::string KernelLibrary::load(const std::string& path) {
    if (handle_) {
        for (Variables& v : variables_) std::memcpy(v.at, v.before.data(), v.before.size());
        return "";
    }
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) return dlerror();
    path_ = path;
    remember();
    return "";
}

void KernelLibrary::remember() {
    variables_.clear();
    plain_ = false;
#ifdef __linux__
    link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map || has_constructors(*map)) return;
    Found f{map->l_addr, {}, false, false};
    dl_iterate_phdr(look, &f);
    if (!f.seen || f.threads || dlsym(handle_, "twin_cube_entries")) return;   // the cube half has variables of its own
    for (const auto& [at, bytes] : f.writable) variables_.push_back({at, std::vector<char>(at, at + bytes)});
    plain_ = true;
#endif
}

static const Entry* find(void* library, const char* table, const std::string& name) {
    for (auto* e = static_cast<const Entry*>(dlsym(library, table)); e && e->name; ++e) if (name == e->name) return e;
    return nullptr;
}

const Entry* KernelLibrary::entry(const std::string& name) const { return find(handle_, "twin_entries", name); }
const Entry* KernelLibrary::cube_entry(const std::string& name) const { return find(handle_, "twin_cube_entries", name); }

}  // namespace twin
