#include "kiln/sim/mpi_plugin.h"

#include <mpi.h>

namespace kiln::sim {
namespace {

MPI_Comm world = MPI_COMM_NULL;  // messages of Kiln only

bool start() {
  int is_started = 0, given = 0;
  MPI_Initialized(&is_started);
  if (!is_started && MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS) return false;
  if (is_started) MPI_Query_thread(&given);
  if (given < MPI_THREAD_SERIALIZED) return false;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &world) != MPI_SUCCESS) return false;
  return MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN) == MPI_SUCCESS;
}

int process() {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  return rank;
}

int count() {
  int size = 1;
  MPI_Comm_size(world, &size);
  return size;
}

void* request_or_null(MPI_Request request, int result) {
  return result == MPI_SUCCESS ? new MPI_Request(request) : nullptr;
}

void* send(int to, int tag, const void* data, int bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = MPI_Isend(data, bytes, MPI_BYTE, to, tag, world, &request);
  return request_or_null(request, result);
}

void* receive(int from, int tag, void* data, int bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = MPI_Irecv(data, bytes, MPI_BYTE, from, tag, world, &request);
  return request_or_null(request, result);
}

int test(void* handle) {
  auto* request = static_cast<MPI_Request*>(handle);
  int done = 0;
  if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -1;
  if (done) delete request;
  return done ? 1 : 0;
}

bool look(int tag, int* from, int* bytes) {
  int found = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &found, &status) != MPI_SUCCESS || !found) return false;
  *from = status.MPI_SOURCE;
  return MPI_Get_count(&status, MPI_BYTE, bytes) == MPI_SUCCESS;
}

void end() {
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  if (!is_ended) MPI_Finalize();
}

constexpr Plugin kPlugin{kPluginVersion, start, process, count, send, receive, test, look, end};

}  // namespace
}  // namespace kiln::sim

extern "C" __attribute__((visibility("default"))) const kiln::sim::Plugin* kiln_mpi_plugin() {
  return &kiln::sim::kPlugin;
}
