// The rules of the table in advice.cpp.
#pragma once

#include "kiln/advice/advice.h"

namespace kiln::advice {

std::optional<Advice> small_dma(const Evidence& evidence);
std::optional<Advice> fp32_matmul(const Evidence& evidence);
std::optional<Advice> psum_evacuation(const Evidence& evidence);
std::optional<Advice> double_buffering(const Evidence& evidence);
std::optional<Advice> engine_imbalance(const Evidence& evidence);
std::optional<Advice> vector_fast_mode(const Evidence& evidence);
std::optional<Advice> reload(const Evidence& evidence);
std::optional<Advice> exposed_communication(const Evidence& evidence);
std::optional<Advice> small_messages(const Evidence& evidence);
std::optional<Advice> late_collectives(const Evidence& evidence);

}  // namespace kiln::advice
