/* The numbers of unknowns and states that few.inc is compiled for: CMakeLists.txt reads this list, too. */
#ifndef CLSI_FEW_SIZES_H
#define CLSI_FEW_SIZES_H

#define CLSI_FEW_SIZES(X)                                                                          \
    X(1, 2)                                                                                        \
    X(1, 3)                                                                                        \
    X(1, 4)                                                                                        \
    X(2, 2)                                                                                        \
    X(2, 3)                                                                                        \
    X(2, 4)                                                                                        \
    X(2, 5)                                                                                        \
    X(3, 3)                                                                                        \
    X(3, 4)                                                                                        \
    X(3, 5)                                                                                        \
    X(4, 4)                                                                                        \
    X(4, 5)

#endif
