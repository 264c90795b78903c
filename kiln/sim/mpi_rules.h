// What a run in several processes needs.
#pragma once

#include "kiln/base/rule.h"

namespace kiln::sim {

namespace mpi_rules {
inline constexpr Rule kBuiltWithMpi{
    1, "Kiln runs under mpirun when it was built where Open MPI is: libkiln_mpi.so lies beside it then",
    "install libopenmpi-dev and openmpi-bin and build Kiln again, or name the file in KILN_MPI_LIBRARY; without mpirun "
    "all ranks run in one process"};
inline constexpr Rule kStarts{2, "MPI starts, with a thread at a time",
                              "look at what MPI says, and whether mpirun is of the MPI that Kiln was built with"};
inline constexpr Rule kProcessesStay{
    3, "every process that has ranks of a run stays until its end",
    "look at what the other process says; KILN_MPI_TIMEOUT is for how many seconds a process may be silent"};
inline constexpr Rule kSameLaunch{
    4, "all processes of a run bring the same programs, with a rank for each process",
    "start the same command with the same files on all, with mpirun -n at most as large as --ranks"};
inline constexpr Rule kRules[] = {kBuiltWithMpi, kStarts, kProcessesStay, kSameLaunch};
inline constexpr RuleTable kTable{"mpi", "a run in several processes", kRules, Category::config};
}  // namespace mpi_rules

}  // namespace kiln::sim
