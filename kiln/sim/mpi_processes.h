// The processes that mpirun started, as those of a run.
#pragma once

#include "kiln/sim/processes.h"

namespace kiln::sim {

// Null when mpirun did not start this process, or it alone. MPI starts with the first call and ends with the process.
// Throws Error when it cannot.
Processes* mpi_processes();

}  // namespace kiln::sim
