"""What scripts compare their kernels with, in torch, from what each function is defined to compute.

`MODULES` says which names a module has that a script imports; here they take the place of functions
that need a GPU. Kernels that are judged use none of them. What a name of another package rounds,
scales or masks is a fact of its interface and is kept; how it is computed is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conformance.references import (
    chunk_outputs,
    deciding,
    delta_rule_states,
    flash_attention,
    gates,
    key_gates,
    linear_attention,
    timing,
    triton_names,
    wy_representation,
)

# By the package: what its modules hold. Names of folders above them need no line.
MODULES: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "fla": {
        "fla": {"__version__": "0.4.0", "__file__": str(Path(__file__).resolve())},
        "fla.modules.l2norm": {"l2norm_fwd": gates.l2norm_fwd},
        "fla.ops.common.chunk_delta_h": {
            "chunk_gated_delta_rule_fwd_h": delta_rule_states.chunk_gated_delta_rule_fwd_h,
            "chunk_gated_delta_rule_bwd_dhu": delta_rule_states.chunk_gated_delta_rule_bwd_dhu,
        },
        "fla.ops.common.chunk_o": {
            "chunk_fwd_o": chunk_outputs.chunk_fwd_o,
            "chunk_bwd_dqkwg": chunk_outputs.chunk_bwd_dqkwg,
        },
        "fla.ops.common.chunk_scaled_dot_kkt": {
            "chunk_scaled_dot_kkt_fwd": wy_representation.chunk_scaled_dot_kkt_fwd,
        },
        "fla.ops.gated_delta_rule.wy_fast": {
            "recompute_w_u_fwd": wy_representation.recompute_w_u_fwd,
            "bwd_prepare_wy_repr": wy_representation.bwd_prepare_wy_repr,
        },
        "fla.ops.linear_attn": {
            "fused_chunk_linear_attn": linear_attention.fused_chunk_linear_attn,
        },
        "fla.ops.utils": {"prepare_token_indices": gates.prepare_token_indices},
        "fla.ops.utils.cumsum": {
            "chunk_local_cumsum": gates.chunk_local_cumsum,
            "chunk_local_cumsum_scalar": gates.chunk_local_cumsum,
        },
        "fla.utils": {
            "contiguous": gates.contiguous,
            "autocast_custom_fwd": gates.unchanged,
            "autocast_custom_bwd": gates.unchanged,
        },
    },
    "FLA_KDA": {
        "FLA_KDA.cumsum": {"chunk_local_cumsum": gates.chunk_local_cumsum},
        "FLA_KDA.fla_chunk_delta": {
            "chunk_gated_delta_rule_fwd_h": delta_rule_states.chunk_gated_delta_rule_fwd_h,
            "chunk_gated_delta_rule_bwd_dhu": delta_rule_states.chunk_gated_delta_rule_bwd_dhu,
        },
        "FLA_KDA.fla_chunk_inter": {"chunk_kda_bwd_dqkwg": chunk_outputs.chunk_kda_bwd_dqkwg},
        "FLA_KDA.fla_chunk_intra": {
            "chunk_kda_bwd_intra": key_gates.chunk_kda_bwd_intra,
            "chunk_kda_fwd_inter_solve_fused": key_gates.chunk_kda_fwd_inter_solve_fused,
        },
        "FLA_KDA.fla_chunk_intra_token_parallel": {
            "chunk_kda_fwd_intra_token_parallel": key_gates.chunk_kda_fwd_intra_token_parallel,
        },
        "FLA_KDA.fla_chunk_o": {
            "chunk_gla_fwd_o_gk": chunk_outputs.chunk_gla_fwd_o_gk,
            "chunk_bwd_dv_local": chunk_outputs.chunk_bwd_dv_local,
            "chunk_gla_bwd_dA": chunk_outputs.chunk_gla_bwd_dA,
        },
        "FLA_KDA.fla_wy_fast": {
            "recompute_w_u_fwd": wy_representation.recompute_w_u_fwd_of_keys,
            "prepare_wy_repr_bwd": wy_representation.prepare_wy_repr_bwd,
        },
    },
    "test_utils_kda": {
        "test_utils_kda": {
            "compare_tensors": deciding.compare_tensors,
            "do_bench": timing.timed,
        },
    },
    "flash_attn": {
        "flash_attn": {
            "flash_attn_func": flash_attention.flash_attn_func,
            "flash_attn_varlen_func": flash_attention.flash_attn_varlen_func,
            "flash_attn_with_kvcache": flash_attention.flash_attn_with_kvcache,
        },
        "flash_attn.bert_padding": {
            "index_first_axis": flash_attention.index_first_axis,
            "pad_input": flash_attention.pad_input,
            "unpad_input": flash_attention.unpad_input,
        },
    },
    "triton": {
        "triton": triton_names.OF_PACKAGE,
        "triton.language": triton_names.OF_LANGUAGE,
        "triton.testing": {"do_bench": timing.timed},
        "triton.tools.tensor_descriptor": {"TensorDescriptor": triton_names.Nothing},
    },
}  # fmt: skip
# Packages that are used where they are installed: nothing of them has to run in Triton.
PREFERRED_INSTALLED = ("flash_attn", "triton")
