// First in, first out, in one piece of memory that exists only once it is used: most queues of a core stay empty.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

namespace twin {

template <class T> class InOrder {
  public:
    bool empty() const { return first_ == items_.size(); }
    size_t size() const { return items_.size() - first_; }
    T& front() { return items_[first_]; }
    const T& front() const { return items_[first_]; }
    void push_back(T v) { items_.push_back(std::move(v)); }
    void pop_front() {
        if (++first_ < items_.size() && first_ < 64) return;
        items_.erase(items_.begin(), items_.begin() + static_cast<long>(first_));
        first_ = 0;
    }
    auto begin() const { return items_.begin() + static_cast<long>(first_); }
    auto end() const { return items_.end(); }

  private:
    std::vector<T> items_;
    size_t first_ = 0;
};

}  // namespace twin
