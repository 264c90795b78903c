// Finds and loads libkiln_mpi.so.
#pragma once

#include "kiln/base/rule.h"
#include "kiln/sim/mpi_plugin.h"

namespace kiln::sim {

namespace mpi_rules {
inline constexpr Rule kBuiltWithMpi{
    1, "Kiln runs under mpirun when it was built where Open MPI is: libkiln_mpi.so lies beside it then",
    "install libopenmpi-dev and openmpi-bin and build Kiln again, or name the file in KILN_MPI_LIBRARY; without mpirun "
    "all ranks run in one process"};
inline constexpr Rule kStarts{2, "MPI starts, with a thread at a time",
                              "look at what MPI says, and whether mpirun is of the MPI that Kiln was built with"};
inline constexpr Rule kRules[] = {kBuiltWithMpi, kStarts};
inline constexpr RuleTable kTable{"mpi", "a run in several processes", kRules, Category::config};
}  // namespace mpi_rules

// How many processes mpirun started, as the environment says; 1 without mpirun.
int started_processes();

// Throws Error when it is not there.
const Plugin& load_plugin();

}  // namespace kiln::sim
