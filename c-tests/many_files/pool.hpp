// What pool.cpp and pooled.cpp share.
#pragma once
// How often a block was taken, and given back: each time counts once.
long taken(), given();
