"""What kernels and scripts for GPUs may rely on here, line by line, and the tests that show it:
`tests/...py::function`. test_checklist.py sees to it that every one of them exists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChecklistLine:
    """A line of the checklist. `open` says which of its clauses no test shows, and why."""

    says: str
    shown: tuple[str, ...]
    open: str = ""


def tests_of(file: str, functions: str) -> tuple[str, ...]:
    return tuple(f"tests/{file}.py::{name}" for name in functions.split())


_of = tests_of
_E = "end_to_end/test_"
_SCRIPTS = _of("runtime/test_scripts_for_gpus", "test_what_scripts_for_gpus_ask")

LINES: dict[int, ChecklistLine] = {
    1: ChecklistLine(
        "imports of a script, and what is said of those that are missing",
        (
            *_SCRIPTS,
            *_of("runtime/test_scripts_for_gpus", "test_whether_a_package_or_a_name_is_missing"),
            *_of("frontend/test_compat", "test_every_name_of_the_table_is_there "
                 "test_a_name_that_is_not_there_is_told_with_its_module "
                 "test_a_module_that_is_not_there"),
        ),
    ),
    2: ChecklistLine("the device is named cuda", _SCRIPTS),
    3: ChecklistLine(
        "factories: one kernel for equal arguments; results are a tensor or a list",
        _of(f"{_E}eager_keys", "test_a_factory_gives_one_kernel_for_equal_arguments "
            "test_one_result_is_a_tensor_and_several_are_a_list"),
        "a factory's kernel without results returns an empty list, as it does on a GPU",
    ),
    4: ChecklistLine(
        "functions that are kernels: what makes them compile anew",
        _of(f"{_E}eager_keys", "test_shapes_compile_anew_and_equal_shapes_do_not "
            "test_values_are_part_of_what_a_kernel_is_for test_element_types_are_part_of_it "
            "test_what_has_no_hash_is_no_value"),
    ),
    5: ChecklistLine(
        "T.const, T.empty, out_idx",
        (
            *_of(f"{_E}eager_keys", "test_by_name_in_compile "
                 "test_one_that_stands_in_a_product_and_alone test_forms_of_empty "
                 "test_empty_is_of_float32_and_may_have_one_size "
                 "test_an_output_that_is_returned_twice test_rows_may_lie_apart"),
            *_of(f"{_E}gpu_kernels", "test_a_constant_that_no_tensor_gives "
                 "test_an_output_that_is_not_returned"),
            *_of(f"{_E}annotated_kernels", "test_out_idx_names_the_parameters_that_a_call_returns "
                 "test_out_idx_beside_outputs_is_refused"),
        ),
    ),
    6: ChecklistLine(
        "text above the launch, and frames beside it",
        _of(f"{_E}eager_keys", "test_text_above_the_launch test_a_launch_beside_other_frames"),
    ),
    7: ChecklistLine(
        "element types are strings",
        (*_SCRIPTS, *_of("frontend/test_compat", "test_element_types_by_their_other_names")),
    ),
    8: ChecklistLine(
        "branches, conditions, steps and ends of loops",
        (
            *_of(f"{_E}python_of_kernels", "test_conditions_of_the_host_and_of_the_run "
                 "test_conditions_of_elements"),
            *_of(f"{_E}gpu_kernels", "test_steps_of_loops_and_names_of_chosen_branches"),
            *_of(f"{_E}leaving_loops", "test_rounds_are_left "
                 "test_a_condition_of_the_host_leaves_a_loop test_tiles_of_the_rounds_that_are_left"),
        ),
    ),
    9: ChecklistLine(
        "variables and macros",
        (
            *_of(f"{_E}python_of_kernels", "test_forms_of_variables "
                 "test_values_are_swapped_and_chained "
                 "test_a_macro_of_a_factory_sees_what_is_around_it"),
            *_of(f"{_E}leaving_loops", "test_macros_return_values_and_assign_references "
                 "test_a_macro_returns_a_tile"),
        ),
    ),
    10: ChecklistLine(
        "several launches, what they share, tensors that are None",
        (
            *_of(f"{_E}python_of_kernels", "test_launches_share_what_the_function_allocates "
                 "test_a_tensor_that_is_not_used_may_be_none"),
            *_of(f"{_E}several_launches", "test_values_go_from_launch_to_launch "
                 "test_an_eager_function_launches_twice test_a_tensor_of_the_call_in_one_launch"),
        ),
    ),
    11: ChecklistLine(
        "tuning",
        (
            *_of(f"{_E}tuned_eager_kernels", "test_every_argument_of_a_tuner "
                 "test_a_call_tunes_and_runs test_compile_gives_the_best_kernel "
                 "test_what_is_found_may_hold_for_other_values "
                 "test_a_configuration_has_pass_configs"),
            *_of("runtime/test_autotuner", "test_the_fastest_right_configuration_wins "
                 "test_wrong_results_lose_whatever_their_time"),
        ),
    ),
    12: ChecklistLine(
        "profilers, times and comparisons",
        (
            *_SCRIPTS,
            *_of("runtime/test_members_of_kernels", "test_a_profiler_checks_and_times "
                 "test_tensors_are_compared_by_all_they_are"),
            *_of("runtime/test_autotuner", "test_do_bench_gives_modelled_milliseconds"),
        ),
    ),
    13: ChecklistLine(
        "options for GPUs do nothing",
        (
            *_SCRIPTS,
            *_of(f"{_E}gpu_hints", "test_options_for_gpus_change_nothing"),
            *_of("runtime/test_code_generators", "test_a_gpu_is_no_target"),
        ),
    ),
    14: ChecklistLine(
        "grids",
        _of(f"{_E}gpu_grids", "test_numbers_of_blocks test_no_extent_is_one_block "
            "test_targets_without_a_use test_neighbours_of_other_blocks_stay_whole"),
    ),
    15: ChecklistLine(
        "threads",
        (
            *_of(f"{_E}gpu_kernels", "test_threads_mean_nothing"),
            *_of(f"{_E}gpu_grids", "test_threads_that_are_no_number"),
        ),
    ),
    16: ChecklistLine(
        "more blocks than cores",
        (
            *_of(f"{_E}gpu_grids", "test_more_blocks_than_cores"),
            *_of(f"{_E}persistent_grids", "test_a_persistent_grid_equals_the_grid"),
        ),
    ),
    17: ChecklistLine(
        "copies of every pair of types through all memories",
        (
            *_of(f"{_E}gpu_copies", "test_values_through_all_memories"),
            *_of(f"{_E}gpu_kernels", "test_copies_convert test_copies_convert_as_casts_of_c_do"),
        ),
    ),
    18: ChecklistLine(
        "copies from tensor to tensor",
        _of(f"{_E}gpu_copies", "test_tensors_are_copied_to_tensors "
            "test_each_block_copies_its_part"),
    ),
    19: ChecklistLine(
        "edges of tensors",
        (
            *_of(f"{_E}edges_of_copies", "test_what_lies_outside"),
            *_of(f"{_E}safe_values", "test_copies_and_elements test_rows_of_other_numbers "
                 "test_an_operand_of_a_product"),
            *_of(f"{_E}tiles_of_many_dimensions", "test_the_ends_of_every_dimension"),
            *_of(f"{_E}guarded_accesses", "test_a_tile_may_begin_before_its_tensor "
                 "test_a_tile_may_be_stored_before_its_tensor_and_the_rest_is_zero"),
        ),
    ),
    20: ChecklistLine(
        "regions of other ranks and extents",
        (
            *_of(f"{_E}gpu_copies", "test_regions_of_other_ranks "
                 "test_a_start_takes_the_extents_of_the_other_side test_rows_are_not_repeated "
                 "test_extents_of_the_run_leave_the_rest_of_a_tile test_two_elements_are_one_store"),
            *_of(f"{_E}parts_handed_over", "test_the_rest_holds_what_was_there_or_zeros"),
            *_of(f"{_E}gpu_published", "test_strides_of_all_dimensions_are_given"),
        ),
        "an extent of 1 beside a longer one is refused, as it is on a GPU",
    ),
    21: ChecklistLine(
        "views",
        (
            *_of(f"{_E}gpu_copies", "test_views_are_read_and_stored_through "
                 "test_views_of_another_type"),
            *_of(f"{_E}gpu_kernels", "test_a_tensor_has_another_form_over_the_same_bytes "
                 "test_a_tile_with_two_names_is_read_where_it_lies"),
            *_of(f"{_E}second_names_of_tiles", "test_an_operand_in_another_shape"),
        ),
    ),
    22: ChecklistLine(
        "T.transpose and T.im2col",
        (
            *_of(f"{_E}gpu_copies", "test_tiles_are_transposed test_windows_of_images"),
            *_of(f"{_E}im2col", "test_rows_of_pixels_in_text_for_gpus"),
        ),
    ),
    23: ChecklistLine(
        "a sum over all rounds is handed over once, whatever clears it",
        (
            *_of(f"{_E}handovers_of_products", "test_a_sum_is_handed_over_once"),
            *_of(f"{_E}gpu_products", "test_uses_of_a_sum"),
            *_of(f"{_E}gpu_kernels", "test_a_sum_that_nothing_has_begun"),
        ),
    ),
    24: ChecklistLine(
        "all uses of sums",
        (
            *_of(f"{_E}gpu_products", "test_uses_of_a_sum "
                 "test_a_product_is_the_operand_of_the_next test_a_sum_is_an_operand_itself"),
            *_of(f"{_E}handovers_of_products", "test_a_sum_is_handed_over_once"),
            *_of(f"{_E}gpu_kernels",
                 "test_a_state_is_read_by_products_and_written_by_vector_code"),
        ),
        "a converted sum that is the next operand goes through the vector cores",
    ),
    25: ChecklistLine(
        "operands",
        (
            *_of(f"{_E}gpu_products", "test_operands test_a_tile_is_both_operands"),
            *_of(f"{_E}handovers_of_products", "test_operands_are_parts_of_tiles "
                 "test_an_operand_is_read_and_written_by_elements "
                 "test_a_wide_sum_of_a_tile_with_itself"),
        ),
    ),
    26: ChecklistLine(
        "sizes of tiles",
        (
            *_of(f"{_E}gpu_products", "test_sizes_of_tiles"),
            *_of(f"{_E}handovers_of_products", "test_what_has_no_room_is_named"),
            *_of(f"{_E}gpu_kernels", "test_sums_that_l0c_can_not_hold_are_added_up_in_ub"),
            *_of(f"{_E}wide_products", "test_pieces_and_the_other_product"),
        ),
    ),
    27: ChecklistLine(
        "attention",
        (
            *_of(f"{_E}gpu_attention", "test_forward test_sequences_of_any_length test_gradients "
                 "test_decoding_with_a_large_latent"),
            *_of(f"{_E}gpu_kernels", "test_attention"),
        ),
    ),
    28: ChecklistLine(
        "pipelined loops",
        (
            *_of(f"{_E}gpu_products", "test_stages_change_no_bit"),
            *_of(f"{_E}handovers_of_products", "test_a_schedule_changes_no_bit"),
            *_of(f"{_E}pipelined_products", "test_pipelined_equals_serial"),
        ),
    ),
    29: ChecklistLine(
        "loops over elements",
        (
            *_of(f"{_E}gpu_elements", "test_loops_of_every_rank "
                 "test_a_tensor_is_used_by_elements_and_by_tiles"),
            *_of(f"{_E}element_programs", "test_three_dimensions_with_names_and_branches "
                 "test_four_dimensions_of_tensors"),
        ),
    ),
    30: ChecklistLine(
        "guards",
        (
            *_of(f"{_E}gpu_elements", "test_guarded_elements_are_not_loaded"),
            *_of(f"{_E}guarded_accesses", "test_a_row_that_is_no_row_is_zero "
                 "test_an_element_that_is_none_is_zero "
                 "test_gathered_rows_with_holes_are_operands "
                 "test_a_store_to_no_row_does_nothing "
                 "test_conditions_on_bounds_leave_parts_of_tiles"),
        ),
    ),
    31: ChecklistLine(
        "loops inside loops over elements",
        (
            *_of(f"{_E}gpu_elements", "test_loops_inside_are_the_loop_written_out"),
            *_of(f"{_E}element_programs", "test_a_serial_loop_inside_becomes_one_around "
                 "test_numbers_of_rounds_that_differ test_variables_of_each_element"),
            *_of(f"{_E}small_arrays", "test_an_array_of_each_element "
                 "test_no_value_is_taken_for_another"),
        ),
    ),
    32: ChecklistLine(
        "updates of elements of tensors",
        (
            *_of(f"{_E}element_atomics", "test_tiles_gathered_rows_and_sums_over_rows "
                 "test_single_values_and_values_under_a_condition test_nothing_is_returned "
                 "test_rows_that_are_added_under_a_condition"),
            *_of(f"{_E}atomic_updates", "test_several_elements_at_once "
                 "test_elements_rows_and_single_values test_tiles_of_many_blocks"),
        ),
    ),
    33: ChecklistLine(
        "reductions and running values",
        (
            *_of(f"{_E}reductions_of_pairs", "test_any_type_into_any_type "
                 "test_bits_onto_an_old_result test_infinities_and_what_begins_a_reduction "
                 "test_rows_that_blocks_share_between_vector_cores"),
            *_of(f"{_E}reduced_dimensions", "test_any_dimension test_absolute_values test_bits "
                 "test_running_values test_the_default_of_a_running_sum_is_the_first_dimension"),
        ),
    ),
    34: ChecklistLine(
        "powers of two, and branches that are no number",
        _of(f"{_E}gpu_elements", "test_powers_and_logarithms_of_two "
            "test_the_branch_that_is_not_taken_may_be_no_number"),
        "exp2 is within 1e-6 for |x| <= 32 and within 2.1e-6 for |x| <= 80",
    ),
    35: ChecklistLine(
        "how arithmetic rounds and wraps",
        _of(f"{_E}gpu_elements", "test_arithmetic_rounds_in_its_type test_integers_wrap_and_shift "
            "test_stored_elements_take_the_type_of_the_tile"),
    ),
    36: ChecklistLine(
        "numbers that decide on both kinds of core",
        (
            *_of(f"{_E}gpu_elements", "test_a_number_from_gm_decides_on_both_cores"),
            *_of(f"{_E}gpu_kernels", "test_both_cores_decide_by_a_copy_of_a_tensor"),
            *_of(f"{_E}chunked_states", "test_products_can_not_depend_on_such_a_variable"),
        ),
    ),
    37: ChecklistLine(
        "hints change nothing",
        (
            *_of(f"{_E}gpu_hints", "test_results_with_hints_and_without "
                 "test_a_layout_of_a_tensor_is_told"),
            *_of("frontend/test_gpu_names", "test_hints_do_nothing"),
        ),
    ),
    38: ChecklistLine(
        "names that only a GPU has",
        (
            *_of("frontend/test_gpu_names", "test_no_name_is_unknown "
                 "test_what_only_a_gpu_has_is_an_error_at_its_line "
                 "test_any_use_of_such_a_name_is_told "
                 "test_small_floats_are_names_until_a_tile_is_made"),
            *_of(f"{_E}gpu_hints", "test_doubles_are_refused_at_their_line"),
        ),
    ),
    39: ChecklistLine(
        "the dialect of a kernel",
        (
            *_of(f"{_E}gpu_hints", "test_names_of_two_dialects_are_those_of_the_kernel "
                 "test_an_attribute_of_a_value_decides_no_dialect"),
            *_of("frontend/test_gpu_names",
                 "test_an_attribute_of_a_value_is_no_sign_of_a_dialect"),
            *_of(f"{_E}gpu_kernels", "test_a_transposed_tile_is_written_second"),
        ),
    ),
    40: ChecklistLine(
        "names of the next chip",
        (
            *_of("frontend/test_next_chip_names",
                 "test_what_only_the_next_chip_has_is_an_error_at_its_line test_hints_do_nothing "
                 "test_what_has_no_meaning_here_is_told"),
            *_of(f"{_E}next_chip_kernels", "test_every_form_gives_the_same_bits "
                 "test_attention_of_both_cores test_schedulers_deal_out_every_tile_once"),
        ),
    ),
    41: ChecklistLine(
        "the examples of TileLang, each with what became of it",
        (
            *_of("conformance/test_outcome", "test_outcomes test_tables "
                 "test_scripts_for_gpus_are_run_smaller_and_told_what_they_must_change"),
            *_of(f"{_E}gpu_examples", "test_script_matches_torch"),
        ),
    ),
}  # fmt: skip
