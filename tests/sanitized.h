/* The sanitizers look for wrong memory and make everything some ten times slower: long trainings,
 * whose figures the release build asserts, are not repeated there. Include after cmocka. */
#ifndef CLAUSIUS_TESTS_SANITIZED_H
#define CLAUSIUS_TESTS_SANITIZED_H

#ifdef __SANITIZE_ADDRESS__
#define SKIP_IF_SANITIZED() skip()
#else
#define SKIP_IF_SANITIZED() ((void)0)
#endif

#endif
