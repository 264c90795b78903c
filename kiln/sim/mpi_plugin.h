// What libkiln_mpi.so offers, the one part of Kiln that is linked with MPI: a table of functions. It is loaded when a
// run was started by mpirun, so that nothing else needs MPI (docs/ranks.md). One thread calls at a time.
#pragma once

namespace kiln::sim {

inline constexpr int kPluginVersion = 1;
inline constexpr const char* kPluginEntry = "kiln_mpi_plugin";
inline constexpr const char* kPluginFile = "libkiln_mpi.so";

struct Plugin {
  int version;
  bool (*start)();  // false: MPI cannot be used here
  int (*process)();
  int (*count)();
  // Begins to send or receive; what comes back is for `test`. Null: failed.
  void* (*send)(int to, int tag, const void* data, int bytes);
  void* (*receive)(int from, int tag, void* data, int bytes);
  // 1: done, and the request is no more; 0: not yet; -1: failed.
  int (*test)(void* request);
  // Whether a message with this tag is there, from whom and how long.
  bool (*look)(int tag, int* from, int* bytes);
  void (*end)();  // waits for all processes
};

using PluginEntry = const Plugin* (*)();

}  // namespace kiln::sim
