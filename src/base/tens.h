/* Powers of ten that are whole numbers of 64 bits: for reading (number.c) and writing (shortest.c). */
#ifndef CLSI_TENS_H
#define CLSI_TENS_H

#include <stdint.h>

static const uint64_t tens[] = {1ull,
                                10ull,
                                100ull,
                                1000ull,
                                10000ull,
                                100000ull,
                                1000000ull,
                                10000000ull,
                                100000000ull,
                                1000000000ull,
                                10000000000ull,
                                100000000000ull,
                                1000000000000ull,
                                10000000000000ull,
                                100000000000000ull,
                                1000000000000000ull,
                                10000000000000000ull,
                                100000000000000000ull,
                                1000000000000000000ull,
                                10000000000000000000ull};

#endif
