// Runs cases for isa_test.py: parse, check, run, each result in a file beside the program.
#pragma once

#include <string>

namespace kiln {

// Every folder of `directory` that has no result.json yet, in the order of their names. Reads program.kiln
// and in_<tensor>.npy; writes out_<tensor>.npy and result.json {status, diagnostics, message, differs}. A
// case that is accepted runs with plain and with fast kernels, on one thread and on two; `differs` tells when
// results do.
void run_cases(const std::string& directory);

}  // namespace kiln
