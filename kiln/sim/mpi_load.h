// Finds and loads libkiln_mpi.so.
#pragma once

#include "kiln/sim/mpi_plugin.h"

namespace kiln::sim {

// How many processes mpirun started, as the environment says; 1 without mpirun.
int started_processes();

// Throws Error when it is not there.
const Plugin& load_plugin();

}  // namespace kiln::sim
