#include "kiln/check/all_rules.h"

#include "kiln/base/file.h"
#include "kiln/base/memory_limit.h"
#include "kiln/base/npy_rules.h"
#include "kiln/base/thread_count.h"
#include "kiln/check/rules.h"
#include "kiln/isa/builder/builder_rules.h"
#include "kiln/isa/semantics/operand_rules.h"
#include "kiln/isa/text/text_rules.h"
#include "kiln/isa/verify/launch_rules.h"
#include "kiln/isa/verify/program_rules.h"

namespace kiln::check {

std::vector<RuleTable> all_rules() {
  std::vector<RuleTable> tables;
  for (const isa::InstructionInfo& row : isa::all_instructions()) tables.push_back(row.rules());
  for (const RuleTable& table :
       {isa::kOperandRules, isa::program_rules::kTable, isa::launch_rules::kTable, memory_rules::kTable,
        io_rules::kTable, flow_rules::kTable, isa::builder_rules::kTable, isa::text_rules::kTable, npy_rules::kTable,
        file_rules::kTable, limit_rules::kTable, thread_rules::kTable, kInternalRules})
    tables.push_back(table);
  return tables;
}

}  // namespace kiln::check
