/* The tables of inner loops that exist; network_form.c lists them best first. */
#ifndef CLSI_NETWORK_TABLES_H
#define CLSI_NETWORK_TABLES_H

#include "field/network_kernels.h"

extern const clsi_network_kernel clsi_network_avx512, clsi_network_avx2, clsi_network_portable;

#endif
