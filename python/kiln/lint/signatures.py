"""Parameters of the functions of nki 0.6.0: "functions: parameters", functions with the same ones together."""

from .module import COLLECTIVES, ISA, LANGUAGE

TABLES = {
    ISA: """
    get_nc_sub_version get_nc_version:
    dma_copy: dst src priority oob_mode dge_mode engine name
    tensor_copy: dst src engine name
    memset: dst value engine name
    tensor_copy_predicated: dst src predicate reverse_pred name
    nc_matmul: dst stationary moving is_stationary_onezero is_moving_onezero is_transpose accumulate \
        tile_position tile_size perf_mode name
    nc_matmul_mx: dst stationary moving stationary_scale moving_scale tile_position tile_size accumulate name
    nc_transpose: dst data engine name
    dma_transpose: dst src axes priority dge_mode oob_mode name
    tensor_tensor: dst data1 data2 op engine name
    tensor_scalar: dst data op0 operand0 reverse0 op1 operand1 reverse1 engine name
    tensor_reduce: dst op data axis negate keepdims name
    tensor_partition_reduce: dst op data name
    tensor_scalar_cumulative: dst src op0 op1 imm0 imm1 reduce_cmd name
    activation: dst op data bias scale reduce_op reduce_res reduce_cmd name
    activation_reduce: dst op data reduce_op reduce_res bias scale name
    activate2: dst op data imm0 imm1 op0 op1 relu_param reverse0 reverse1 reduce_op reduce_res reduce_cmd name
    iota: dst pattern offset channel_multiplier name
    affine_select: dst pattern channel_multiplier on_true_tile on_false_value cmp_op offset name
    local_gather: dst src_buffer index num_elem_per_idx num_valid_indices name
    nc_n_gather: dst data indices name
    bn_stats bn_aggr reciprocal: dst data name
    tensor_tensor_scan: dst data0 data1 initial op0 op1 reverse0 reverse1 name
    nc_stream_shuffle: dst src shuffle_mask name
    rng rand_get_state: dst engine name
    dropout: dst data prob name
    set_rng_seed: src_seeds name
    rand_set_state: src_seeds engine name
    rand2: dst min max name
    exponential: dst src max_value reduce_res reduce_cmd reduce_init name
    max8: dst src name
    sequence_bounds: dst segment_ids name
    scalar_tensor_tensor: dst data op0 operand0 op1 operand1 reverse0 reverse1 name
    tensor_scalar_reduce: dst data op0 operand0 reduce_op reduce_res reverse0 reduce_cmd reduce_init \
        reduce_res_negate name
    core_barrier: data cores engine name
    dma_compute: dst srcs reduce_op scales unique_indices oob_mode name
    quantize_mx: dst src dst_scale name
    range_select: dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd reduce_res reduce_op range_start \
        on_false_value name
    select_reduce: dst predicate on_true on_false reduce_res reduce_cmd reduce_op reverse_pred name
    sendrecv: src dst send_to_rank recv_from_rank pipe_id dma_engine name
    register_alloc: x
    register_move register_load register_store: dst src
    nc_find_index8: dst data vals name
    nc_match_replace8: dst data vals imm dst_idx name
    nonzero_with_count: dst src index_offset padding_val name
    topk: val_dst idx_dst src n name
    """,
    LANGUAGE: """
    is_hbm is_on_chip is_psum is_sbuf: buffer
    add subtract multiply divide maximum minimum abs_max abs_min power equal not_equal less less_equal greater \
        greater_equal bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor \
        fmod mod: x y dtype
    abs square invert logical_not exp log sqrt rsqrt tanh sigmoid relu gelu gelu_apprx_sigmoid gelu_apprx_tanh \
        gelu_dx gelu_apprx_sigmoid_dx silu silu_dx softplus mish erf erf_dx reciprocal copy sin cos tan arctan ceil \
        floor trunc negative sign transpose: x dtype
    sum max min mean prod var: x axis dtype keepdims
    all softmax: x axis dtype
    rms_norm: x w axis n epsilon dtype compute_dtype
    where: condition x y dtype
    dropout: x rate dtype
    ones zeros rand: shape dtype buffer name
    full: shape fill_value dtype buffer name
    zeros_like empty_like: x dtype buffer name
    random_seed: seed
    expand_dims: x axis
    broadcast_to: x shape dtype
    matmul: x y transpose_x
    no_reorder program_ndim:
    load_transpose2d load: src dtype
    gather_flattened: data indices axis dtype
    ds: start size
    affine_range sequential_range static_range dynamic_range: start stop step
    fori_loop: lower upper body_fun step
    while_loop: init body_fun
    ndarray: shape dtype buffer name address
    store: dst value
    program_id: axis
    num_programs: axes
    shared_constant: constant
    shared_identity_matrix: n dtype dst
    device_print: print_prefix tensor
    """,
    COLLECTIVES: """
    all_reduce: srcs dsts replica_group op priority name
    all_gather all_to_all: srcs dsts replica_group collective_dim priority name
    all_gather_v all_to_all_v: srcs dsts replica_group metadata_tensor recv_counts_known has_rdispls priority name
    reduce_scatter: srcs dsts replica_group collective_dim op priority name
    collective_permute: srcs dsts source_target_pairs priority name
    collective_permute_implicit: srcs_by_channel dsts_by_channel replica_group channel_ids priority name
    collective_permute_implicit_reduce: srcs0_by_channel srcs1_by_channel dsts_by_channel replica_group op \
        channel_ids priority name
    collective_permute_implicit_current_processing_rank_id: iteration_id replica_group channel_id name
    rank_id: name
    """,
}


def _read():
    found = {}
    for package, table in TABLES.items():
        for line in table.strip().splitlines():
            functions, _, parameters = line.partition(":")
            for function in functions.split():
                found[f"{package}.{function}"] = tuple(parameters.split())
    return found


SIGNATURES = _read()

# Instructions that write `dst`.
DST_INSTRUCTIONS = frozenset(
    name.rpartition(".")[2]
    for name, parameters in SIGNATURES.items()
    if name.startswith(ISA + ".") and parameters[:1] == ("dst",) and not name.startswith(f"{ISA}.register_")
)
