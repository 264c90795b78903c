// The table of generations: what is read out of it by name, and figures typed from the documents.
#include <gtest/gtest.h>

#include "kiln/arch/arch.h"

namespace kiln {
namespace {

TEST(Generations, AreFoundByTheirNames) {
  ASSERT_EQ(all_archs().size(), 3u);
  EXPECT_EQ(target_names("|"), "trn1|trn2|trn3");
  for (const Arch* a : all_archs()) {
    EXPECT_EQ(&arch(a->target), a);
    Target target;
    for (const std::string_view name : {a->name, a->generation_name}) {
      ASSERT_TRUE(parse_target(name, target)) << name;
      EXPECT_EQ(target, a->target);
    }
    EXPECT_FALSE(parse_target(a->core_name, target));
    EXPECT_EQ(a->generation_name, "gen" + std::to_string(a->generation));
    EXPECT_EQ(a->core_name, "NeuronCore-v" + std::to_string(a->generation));
  }
}

TEST(Generations, EnginesAreFoundByTheirNumber) {
  const Arch& a = arch(Target::trn2);
  EXPECT_EQ(&a.engine(Engine::tensor), &a.tensor);
  EXPECT_EQ(&a.engine(Engine::vector), &a.vector);
  EXPECT_EQ(&a.engine(Engine::scalar), &a.scalar);
  EXPECT_EQ(&a.engine(Engine::gpsimd), &a.gpsimd);
  EXPECT_EQ(&a.engine(Engine::sync), &a.sync);
  EXPECT_EQ(a.engine(Engine::dma).clock_ghz, 0);
  EXPECT_EQ(a.engine(Engine::unknown).clock_ghz, 0);
}

// SBUF of 24, 28 and 32 MiB, PSUM of 2 MiB: the architecture guides.
TEST(Generations, SizesOfTheDocuments) {
  const std::int64_t sbuf_mib[] = {24, 28, 32};
  for (std::size_t i = 0; i < 3; ++i) {
    const Arch& a = *all_archs()[i];
    EXPECT_EQ(a.partitions * a.sbuf_partition_bytes, sbuf_mib[i] << 20) << a.name;
    EXPECT_EQ(a.partitions * a.psum_partition_bytes, 2 << 20) << a.name;
    EXPECT_EQ(a.psum_banks * a.psum_bank_bytes, a.psum_partition_bytes) << a.name;
  }
}

// A generation that starts from another one keeps what it does not state.
TEST(Generations, Gen4IsGen3ButForWhatIsPublished) {
  const Arch &old = arch(Target::trn2), &young = arch(Target::trn3);
  EXPECT_EQ(young.tensor.latency_ns, old.tensor.latency_ns);
  EXPECT_EQ(young.scalar.function_interval_ns, old.scalar.function_interval_ns);
  EXPECT_EQ(young.dma.completion_ns, old.dma.completion_ns);
  EXPECT_EQ(young.timing.matmul.warm_up_ns, old.timing.matmul.warm_up_ns);
  EXPECT_NE(young.vector.clock_ghz, old.vector.clock_ghz);
  EXPECT_NE(young.dma.packet_bytes_per_ns, old.dma.packet_bytes_per_ns);
  EXPECT_TRUE(young.features.lnc2 && young.features.mx && !old.features.mx);
}

}  // namespace
}  // namespace kiln
