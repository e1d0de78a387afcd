// The program's own operator new and delete: a list of blocks that were given back, the last one first, with
// its links in the blocks. Executed twice, or later, they give other blocks, and the counts are wrong.
#include "pool.hpp"
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

static std::atomic_flag busy = ATOMIC_FLAG_INIT;
static void *first;
static long takes, gives;

static const std::size_t BLOCK = 512;

void *operator new(std::size_t n) {
    while (busy.test_and_set(std::memory_order_acquire)) {}
    takes++;
    void *block = n <= BLOCK ? first : nullptr;
    if (block) first = *static_cast<void **>(block);
    busy.clear(std::memory_order_release);
    return block ? block : std::malloc(n < BLOCK ? BLOCK : n);
}
void operator delete(void *block) noexcept {
    while (busy.test_and_set(std::memory_order_acquire)) {}
    gives++;
    *static_cast<void **>(block) = first;
    first = block;
    busy.clear(std::memory_order_release);
}
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
void *operator new[](std::size_t n) { return operator new(n); }
void operator delete[](void *block) noexcept { operator delete(block); }
void operator delete[](void *block, std::size_t) noexcept { operator delete(block); }

long taken() { return takes; }
long given() { return gives; }
