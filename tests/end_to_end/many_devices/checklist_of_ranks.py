"""What kernels over many devices and of many tasks may rely on, line by line (S-1 to S-44), and the
tests that show it. test_checklist_of_ranks.py sees to it that every one of them exists."""

from __future__ import annotations

from ..checklist import ChecklistLine
from ..checklist import tests_of as _of

_E, _F = "end_to_end/test_", "frontend/test_"
_M, _R = "end_to_end/many_devices/test_", "runtime/ranks/test_"

LINES: dict[int, ChecklistLine] = {
    1: ChecklistLine(
        "the copy to the neighbour as its authors print it, by 1 to 8 devices",
        (
            *_of(f"{_M}seed_programs", "test_the_copy_to_the_neighbour"),
            *_of(f"{_M}rules_of_ranks", "test_the_seeds_neighbour_copy"),
        ),
    ),
    2: ChecklistLine(
        "the forms of `as` are one; a second name that has a value is an error",
        _of(
            f"{_F}ranks",
            "test_both_forms_of_as_are_one test_a_second_name_that_has_a_value_is_refused",
        ),
    ),
    3: ChecklistLine(
        "levels inside a device give the text that is written by hand, also of a product that two blocks share",
        (
            *_of(f"{_F}ranks", "test_the_level_of_vector_cores_is_the_lane"),
            *_of(
                f"{_M}clusters",
                "test_the_level_of_vector_cores_gives_the_same_text test_a_tile_that_two_blocks_share_is_one_split_by_hand test_the_cluster_product_as_its_authors_print_it test_what_two_blocks_can_not_share",
            ),
        ),
    ),
    4: ChecklistLine(
        "levels that the machine lacks name ours",
        _of(
            f"{_F}ranks",
            "test_levels_that_the_machine_lacks_name_ours test_a_level_outside_the_launch_is_refused",
        ),
    ),
    5: ChecklistLine(
        "other names emit the text of ours, in elements or bytes",
        (
            *_of(f"{_F}ranks", "test_other_spellings_mean_ours"),
            *_of(
                f"{_F}runs_of_elements",
                "test_a_run_is_the_slices_it_covers test_what_is_no_run_is_told",
            ),
        ),
    ),
    6: ChecklistLine(
        "sides in either order, exchanged ones detected and noted",
        _of(f"{_F}ranks", "test_other_spellings_mean_ours"),
    ),
    7: ChecklistLine(
        "both sides remote, a rank that is not there, private memory, the value of an addition",
        (
            *_of(f"{_F}ranks", "test_sides_that_can_not_be test_a_tile_on_chip_is_nobody_elses"),
            *_of(
                f"{_M}seed_programs",
                "test_a_rank_that_is_not_there test_no_addition_tells_what_was_there",
            ),
        ),
    ),
    8: ChecklistLine(
        "ranks that allocate otherwise are told at the allocation",
        _of(f"{_R}processes", "test_two_processes_and_what_goes_wrong_with_them"),
        "in one process one call allocates for all ranks",
    ),
    9: ChecklistLine(
        "a signal before its put is there, in every schedule; late puts show wrong values",
        (
            *_of(f"{_M}rules_of_ranks", "test_a_signal_says_nothing_of_what_is_under_way"),
            *_of(f"{_R}signals", "test_a_step_left_out_is_told_in_every_schedule"),
            *_of(f"{_R}collectives", "test_a_store_without_quiet_may_stay_with_its_core"),
        ),
    ),
    10: ChecklistLine(
        "a source that is written again before its transfer is over",
        _of(
            f"{_M}engine_copies",
            "test_a_destination_is_read_and_a_source_written_after_the_wait test_what_is_missing_is_named_on_every_schedule",
        ),
        "a put of a core has left its source when the next statement runs",
    ),
    11: ChecklistLine(
        "a signal carries what its core has joined at a barrier of the launch",
        (
            *_of(
                f"{_M}rules_of_ranks", "test_a_signal_carries_what_met_at_a_barrier_of_the_launch"
            ),
            *_of(f"{_R}signals", "test_a_signal_carries_what_its_core_has_joined"),
        ),
    ),
    12: ChecklistLine(
        "a wait joins the additions without which it could not be over",
        (
            *_of(f"{_M}rules_of_ranks", "test_a_wait_joins_the_additions_that_it_needs"),
            *_of(
                f"{_R}signals",
                "test_adds_of_three_ranks test_a_wait_learns_only_what_its_condition_needs",
            ),
        ),
    ),
    13: ChecklistLine(
        "two words in one line",
        (
            *_of(f"{_M}rules_of_ranks", "test_words_of_two_ranks_in_one_line"),
            *_of(
                f"{_R}signals",
                "test_words_share_no_line_unless_they_are_added_to test_data_beside_a_word_that_is_set_is_lost",
            ),
        ),
    ),
    14: ChecklistLine(
        "a word that is set back, and words that only grow",
        (
            *_of(f"{_M}rules_of_ranks", "test_a_word_that_is_set_back_may_meet_the_next_signal"),
            *_of(
                f"{_R}signals",
                "test_a_word_is_set_back_in_order_with_the_next_signal test_rounds_are_counted_on_over_calls",
            ),
        ),
        "a signal of the next call is not held against a word that this one sets back: calls follow each other",
    ),
    15: ChecklistLine(
        "a fence is no quiet; who sees a store over RoCE",
        _of(
            f"{_R}collectives",
            "test_a_fence_is_a_quiet_on_this_device_and_an_order_per_rank_in_general test_over_roce_only_the_owner_of_the_memory_knows_that_a_store_is_complete",
        ),
    ),
    16: ChecklistLine(
        "a scalar load after a remote store",
        _of(f"{_R}collectives", "test_a_scalar_load_after_a_remote_store_drops_its_line_first"),
    ),
    17: ChecklistLine(
        "barriers in branches, by the text and by a run",
        (
            *_of(f"{_M}barriers", "test_a_barrier_in_a_branch test_a_barrier_in_both_arms"),
            *_of("ir/test_check_ranks", "test_a_barrier_is_one_of_all_ranks"),
        ),
    ),
    18: ChecklistLine(
        "verdicts on launches that hang, word by word",
        _of(
            f"{_R}deadlocks",
            "test_the_report_of_a_launch_that_hangs test_a_rank_whose_blocks_are_not_all_on_the_device",
        ),
    ),
    19: ChecklistLine(
        "verdicts do not depend on seeds, deliveries and host threads",
        (
            *_of(f"{_M}broken_examples", "test_a_mistake_is_told_in_every_schedule"),
            *_of(f"{_M}mesh_products", "test_a_mistake_is_told_in_every_schedule"),
            *_of(f"{_R}signals", "test_a_step_left_out_is_told_in_every_schedule"),
            *_of(f"{_R}deadlocks", "test_the_report_of_a_launch_that_hangs"),
        ),
    ),
    20: ChecklistLine(
        "a barrier drops records",
        _of(
            f"{_R}long_launches",
            "test_what_is_forgotten_hides_no_race_behind_it "
            "test_the_memory_of_a_thousand_rounds_is_that_of_ten",
        ),
    ),
    21: ChecklistLine(
        "random programs of three ranks against all their runs, and each step of clean ones left out",
        (
            *_of(f"{_R}random_programs", "test_the_checker_finds_what_some_run_shows"),
            *_of(f"{_R}dropped_steps", "test_whatever_matters_is_missed_when_it_is_left_out"),
            *_of("ir/test_check_ranks", "test_random_programs_are_judged_as_by_all_their_moments"),
        ),
    ),
    22: ChecklistLine(
        "examples for any number of ranks in odd sizes at `strict`, broken ones by their slug",
        (
            *_of(
                f"{_M}distributed_examples",
                "test_an_example_at_strict test_an_example_on_any_number_of_ranks test_the_interpreter_says_the_same",
            ),
            *_of(f"{_M}broken_examples", "test_a_mistake_is_told_in_every_schedule"),
            *_of(f"{_M}mesh_products", "test_four_devices_at_strict test_any_square_of_devices"),
        ),
    ),
    23: ChecklistLine(
        "bytes on links are those of the algorithm",
        (
            *_of(f"{_R}time", "test_bytes_of_links_are_those_of_the_algorithm"),
            *_of(
                f"{_M}links_of_examples",
                "test_links_carry_what_the_algorithm_says_and_faster_ones_do_not_hurt",
            ),
        ),
    ),
    24: ChecklistLine(
        "direct puts against a ring, by topology",
        _of(f"{_R}time", "test_a_mesh_makes_direct_puts_faster_than_a_ring_and_a_ring_does_not"),
    ),
    25: ChecklistLine(
        "seven senders to one rank",
        _of(f"{_R}time", "test_seven_senders_share_a_way_in_but_not_links_of_their_own"),
    ),
    26: ChecklistLine(
        "all-gather and product in one kernel: faster for one shape, not for a small one",
        (),
        "rows `ranks.fused.gather` and `ranks.fused.small` of `tile-ascend bench`: eight devices "
        "with their data take minutes",
    ),
    27: ChecklistLine(
        "faster links slow nothing",
        (
            *_of(f"{_R}time", "test_faster_links_never_slow_a_launch"),
            *_of(
                f"{_M}links_of_examples",
                "test_links_carry_what_the_algorithm_says_and_faster_ones_do_not_hurt",
            ),
        ),
    ),
    28: ChecklistLine(
        "one rank is a single device, in result and time",
        (
            *_of(
                f"{_M}one_rank",
                "test_one_rank_is_a_single_device test_a_fused_product_of_one_rank_is_a_product",
            ),
            *_of(f"{_R}time", "test_ranks_that_do_not_talk_take_the_time_of_one_device"),
        ),
        "`moe` is left out: its words order the blocks of one rank as well",
    ),
    29: ChecklistLine(
        "processes give the same bytes, and end when one fails",
        (
            *_of(
                f"{_R}processes",
                "test_torchrun_gives_what_gloo_gives test_two_processes_and_what_goes_wrong_with_them",
            ),
            *_of(f"{_R}messages", "test_messages_give_what_shared_memory_gives"),
        ),
    ),
    30: ChecklistLine(
        "processes without shared memory",
        _of(
            f"{_R}messages",
            "test_messages_give_what_shared_memory_gives test_all_examples_by_messages",
        ),
    ),
    31: ChecklistLine(
        "torchrun without its variables, or with wrong ones",
        _of(
            f"{_R}processes",
            "test_without_a_group_there_are_no_ranks test_wrong_variables_are_one_clear_error",
        ),
    ),
    32: ChecklistLine(
        "tuning in step",
        _of(f"{_R}tuning_in_step", "test_all_ranks_choose_the_same"),
    ),
    33: ChecklistLine(
        "the text compiles with the vendor's library, and the host calls it in its order",
        (
            *_of(
                f"{_M}vendor_shmem",
                "test_calls_are_those_of_the_library test_a_call_that_it_does_not_have_is_found",
            ),
            *_of(
                f"{_R}device_ranks",
                "test_the_calls_of_the_library_in_their_order test_a_rank_of_two_takes_the_id_of_the_first",
            ),
        ),
        "no line has run on devices",
    ),
    34: ChecklistLine(
        "the text check proves what is clean and rejects what misses a signal",
        (
            *_of(
                "ir/test_check_ranks",
                "test_examples_are_proved test_broken_kernels_are_rejected test_whatever_is_left_out_is_noticed",
            ),
            *_of(
                f"{_M}mesh_products",
                "test_the_order_is_proved_from_the_text test_the_text_shows_a_mistake",
            ),
        ),
    ),
    35: ChecklistLine(
        "a decoder block in one launch equals ten",
        _of(
            f"{_E}megakernel_example",
            "test_one_launch_equals_ten_bit_by_bit test_layers_in_one_launch",
        ),
    ),
    36: ChecklistLine(
        "each edge between tasks dropped once",
        _of(f"{_E}megakernels", "test_every_edge_is_needed"),
    ),
    37: ChecklistLine(
        "times of one launch against the critical path, HBM and many launches",
        _of(
            f"{_E}task_times",
            "test_one_launch_is_no_faster_than_the_chip test_the_difference_is_explained",
        ),
    ),
    38: ChecklistLine(
        "words that only grow over many calls, and at their end",
        _of(
            f"{_E}megakernels",
            "test_ten_thousand_steps test_words_begin_anew_at_their_end_and_after_failures",
        ),
    ),
    39: ChecklistLine(
        "graphs that can not be",
        (
            *_of(
                f"{_E}megakernels",
                "test_tasks_that_wait_for_each_other test_barriers_of_all_blocks_are_refused test_a_task_without_room test_signals_above_a_counter_are_refused",
            ),
            *_of(f"{_E}task_order", "test_an_order_that_closes_a_cycle_is_refused"),
            *_of(f"{_E}task_regions", "test_parts_that_no_task_writes"),
        ),
    ),
    40: ChecklistLine(
        "random graphs of tasks",
        (
            *_of(f"{_E}megakernels", "test_random_graphs"),
            *_of(f"{_E}task_schedule", "test_fifty_tasks_of_any_cost"),
        ),
    ),
    41: ChecklistLine(
        "sizes of bodies and changes of them",
        _of(f"{_E}task_code", "test_a_count_by_hand test_a_body_above_the_cache_is_remarked"),
    ),
    42: ChecklistLine(
        "what one launch gains where launches cost nothing",
        (
            *_of(f"{_E}megakernel_example", "test_launch_heads_are_what_is_won"),
            *_of(f"{_E}task_times", "test_without_launches_tails_and_prefetch_are_left"),
        ),
    ),
    43: ChecklistLine(
        "a decoder block of two ranks in one launch",
        _of(
            f"{_M}tensor_parallel",
            "test_one_launch_equals_a_launch_for_each test_two_ranks_say_what_one_says",
        ),
    ),
    44: ChecklistLine(
        "the table of measurements",
        _of(
            "link_times/test_link_times",
            "test_no_row_is_in_two_groups test_constants_are_what_the_rows_say_that_calibrate test_the_rows_that_check_agree test_every_miss_has_one_reason",
        ),
    ),
}
