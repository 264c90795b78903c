// Ends a walk over instructions.def (no include guard: it is included after every walk).
#undef KILN_INSTRUCTION
#undef KILN_OUT
#undef KILN_INOUT
#undef KILN_OPT_OUT
#undef KILN_IN
#undef KILN_INS
#undef KILN_OUTS
#undef KILN_SCALAR_OR_IN
#undef KILN_OPT_SCALAR_OR_IN
#undef KILN_ARG
#undef KILN_DEFAULT
#undef KILN_END
