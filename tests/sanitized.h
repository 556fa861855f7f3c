/* The sanitizers look for wrong memory and make everything some ten times slower: long trainings and
 * sweeps, whose figures the release build asserts, are thinned there to what runs every line once
 * (SANITIZED: no figures), or skipped. Include after cmocka. */
#ifndef CLAUSIUS_TESTS_SANITIZED_H
#define CLAUSIUS_TESTS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED           1
#define SKIP_IF_SANITIZED() skip()
#define THINNED(full, thin) (thin)
#else
#define SANITIZED           0
#define SKIP_IF_SANITIZED() ((void)0)
#define THINNED(full, thin) (full)
#endif

#endif
