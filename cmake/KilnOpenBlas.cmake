# OpenBLAS (BSD-3-Clause), which the backend `native` calls: linked in, so that programs and wheels need no library
# beside them. Where only the shared library is, that one is taken.
find_path(KILN_OPENBLAS_INCLUDE cblas.h
          PATH_SUFFIXES openblas-pthread openblas x86_64-linux-gnu/openblas-pthread aarch64-linux-gnu/openblas-pthread
          REQUIRED)
find_library(KILN_OPENBLAS_LIBRARY NAMES libopenblas.a openblas
             PATH_SUFFIXES openblas-pthread x86_64-linux-gnu/openblas-pthread aarch64-linux-gnu/openblas-pthread
             REQUIRED)
find_package(Threads REQUIRED)
