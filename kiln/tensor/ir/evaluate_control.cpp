// The oracle of ops with bodies.
#include "kiln/tensor/ir/evaluate_op.h"
#include "kiln/tensor/ir/rules.h"

namespace kiln::tensor {
namespace {

std::vector<Array> run(const Graph& body, const std::vector<const Array*>& given) {
  Arrays inputs;
  const std::vector<Value> at = body.inputs();
  for (std::size_t i = 0; i < at.size(); ++i) inputs[body.op(at[i]).text("name")] = *given[i];
  Arrays outputs = evaluate(body, inputs);
  std::vector<Array> out;
  for (const Output& o : body.outputs()) out.push_back(outputs.at(o.name));
  return out;
}

}  // namespace

std::vector<Array> results_of(const Op& op, const std::vector<const Array*>& in) {
  if (op.code == OpCode::call) return run(*op.bodies[0], in);
  if (op.code == OpCode::branch) return run(*op.bodies[in[0]->data[0] != 0 ? 0 : 1], {in.begin() + 1, in.end()});
  const auto carried = static_cast<std::size_t>(op.integer("carried"));
  std::vector<Array> state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(*in[i]);
  const auto given = [&] {
    std::vector<const Array*> out;
    for (const Array& s : state) out.push_back(&s);
    out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(carried), in.end());
    return out;
  };
  if (op.code == OpCode::for_loop) {
    for (std::int64_t i = 0; i < op.integer("count"); ++i) {
      const Array pass{{DType::int32, {}}, {static_cast<double>(i)}};
      std::vector<const Array*> all = given();
      all.insert(all.begin(), &pass);
      state = run(*op.bodies[0], all);
    }
    return state;
  }
  while (run(*op.bodies[0], given())[0].data[0] != 0) state = run(*op.bodies[1], given());
  return state;
}

Array eval_bodies(const Eval& e) { return results_of(e.op, e.in)[0]; }

Array eval_kernel(const Eval&) {
  raise(rules::kTable, rules::kNotYet,
        {.found = "not yet: kernels in the oracle; compile the program and run it", .category = Category::not_yet});
}

Array eval_result(const Eval&) { internal_error(__FILE__, __LINE__, "a result without its op"); }

}  // namespace kiln::tensor
