# ruff: noqa
# fmt: off
"""What a person writes on the first day who knows torch, Triton or an older tilelang, and what is
said to it. Each function is one program; it is run to its end, the simulator included."""

import math

import numpy as np
import torch

import tile_frontend as T

AUTO = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


# The two vector cores ------------------------------------------------------------------------------


def vid_is_not_used():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
           #^ race: aiv0 MTE3 writes bytes [0, 256) of GM buffer 'X' (DataCopyPad at first_day.py:27 (kernel.cpp:N)), aiv1 MTE2 reads them (DataCopyPad at first_day.py:24 (kernel.cpp:N)), and nothing orders the two (DataCopyPad, block 0, aiv1, kernel.cpp:N) | index by `vid`, or guard with `if vid == 0`, or write `threads=2`
            T.tile.add(x, x, 1.0)
            T.copy(x, X)

    T.compile(k, pass_configs=AUTO)(torch.zeros(64))


def the_vector_core_has_another_name():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, is_npu=True) as (bx, lane):
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
           #^ race: aiv0 MTE3 writes bytes [0, 256) of GM buffer 'X' (DataCopyPad at first_day.py:40 (kernel.cpp:N)), aiv1 MTE2 reads them (DataCopyPad at first_day.py:37 (kernel.cpp:N)), and nothing orders the two (DataCopyPad, block 0, aiv1, kernel.cpp:N) | index by `lane`, or guard with `if lane == 0`, or write `threads=2`
            T.tile.add(x, x, 1.0)
            T.copy(x, X)

    T.compile(k, pass_configs=AUTO)(torch.zeros(64))


def blocks_do_the_same():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
           #^ race: block 0 aiv0 MTE3 writes bytes [0, 256) of GM buffer 'X' (DataCopyPad at first_day.py:53 (kernel.cpp:N)), block 1 aiv0 MTE2 reads them (DataCopyPad at first_day.py:50 (kernel.cpp:N)), and nothing orders the two (DataCopyPad, block 1, aiv0, kernel.cpp:N) | index by `cid`, or guard with `if cid == 0`, or launch one block
            T.tile.add(x, x, 1.0)
            T.copy(x, X)

    T.compile(k, pass_configs=AUTO)(torch.zeros(64))


# Order ---------------------------------------------------------------------------------------------


def no_order_at_all():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.tile.add(x, x, 1.0)
           #^ race: MTE2 writes bytes [0, 256) of 'x' (UB) (DataCopyPad at first_day.py:66 (kernel.cpp:N)), V reads them (Adds at first_day.py:67 (kernel.cpp:N)), and nothing orders the two (Adds, block 0, aiv0, kernel.cpp:N) | add T.set_flag("mte2", "v", id) after the first and T.wait_flag("mte2", "v", id) before the second; or leave it to the compiler: pass_configs={"tl.ascend_auto_sync": True}
            T.copy(x, Y)

    T.compile(k, out_idx=[-1])(torch.zeros(64))


def no_order_between_two_operations():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.barrier_all()
            T.tile.add(x, x, 1.0)
            T.tile.mul(x, x, 2.0)
           #^ race: V writes bytes [0, 256) of 'x' (UB) (Adds at first_day.py:81 (kernel.cpp:N)), V reads them (Muls at first_day.py:82 (kernel.cpp:N)), and nothing orders the two (Muls, block 0, aiv0, kernel.cpp:N) | add T.pipe_barrier("v") between them; or leave it to the compiler: pass_configs={"tl.ascend_auto_sync": True}
            T.barrier_all()
            T.copy(x, Y)

    from tile_ir.switches import override

    with override(check="strict"):
        T.compile(k, out_idx=[-1])(torch.zeros(64))


def no_order_between_cores():
    @T.prim_func
    def k(A: T.Tensor((32, 32), "float16"), W: T.Tensor((32, 32), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            with T.Scope("C"):
                T.copy(A, a)
                T.barrier_all()
                T.gemm_v0(a, a, c, init=True)
                T.barrier_all()
                T.copy(c, W)
            with T.Scope("V"):
                T.copy(W[vid * 16, 0], u)
               #^ race: aic FIX writes bytes [0, 2048) of GM buffer 'W' (Fixpipe at first_day.py:105 (kernel.cpp:N)), aiv0 MTE2 reads them (DataCopyPad at first_day.py:107 (kernel.cpp:N)), and nothing orders the two (DataCopyPad, block 0, aiv0, kernel.cpp:N) | if aic has to come first, add T.set_cross_flag("fix", id, mode=2) on aic after its access and T.wait_cross_flag(id) on every vector core before the other one; if aiv0 has to come first, add T.set_cross_flag("mte2", id, mode=2) on every vector core after its access and T.wait_cross_flag(id) on aic before the other one; or leave it to the compiler: pass_configs={"tl.ascend_auto_cv_combine": True, "tl.ascend_auto_cross_core_sync": True}
                T.barrier_all()
                T.copy(u, Y[vid * 16, 0])

    T.compile(k, out_idx=[-1])(torch.zeros(32, 32).half(), torch.zeros(32, 32))


# Launches ------------------------------------------------------------------------------------------


def the_index_of_triton():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(4) as (cid, vid):
            pid = T.program_id(0)
            #       ^ unknown-name: `T.program_id` is not defined | write `with T.Kernel(blocks, threads=2) as cid:`; `cid` is the program id


def threads_that_synchronise():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(4) as (cid, vid):
            T.barrier_wait(0, 0)
          # ^ gpu-name: T.barrier_wait: the compiler orders the statements of a block | leave it out


# Arrays of the host --------------------------------------------------------------------------------


def numpy_on_a_buffer():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = np.exp(x)
            #   ^ host-function: `np.exp` runs on the host while the kernel is traced: it does not take the buffer `x` | write T.tile.exp(dst, src)


def torch_on_a_buffer():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = torch.nn.functional.silu(x)
            #   ^ host-function: `torch.nn.functional.silu` runs on the host while the kernel is traced: it does not take the buffer `x` | write T.tile.silu(dst, src)


def torch_product():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((64, 64), "float16")
            c = torch.matmul(a, a)
            #   ^ host-function: `torch.matmul` runs on the host while the kernel is traced: it does not take the buffer `a` | write T.gemm_v0(A, B, C, init=True)


def math_on_an_element():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            for i in T.Parallel(64):
                x[i] = math.exp(x[i] - 1.0)
                #      ^ host-function: `math.exp` runs on the host while the kernel is traced: it does not take a runtime float32 | write T.exp(x[i] - 1.0)


def numpy_on_an_element():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            for i in T.Parallel(64):
                x[i] = np.maximum(x[i], 0.0)
                #      ^ host-function: `np.maximum` runs on the host while the kernel is traced: it does not take a runtime float32 | write T.max(x[i], 0.0)


def python_max_of_a_buffer():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = max(x, 0.0)
            #   ^ host-function: `max` runs on the host while the kernel is traced: it does not take the buffer `x` | write T.tile.max(dst, src0, src1)


def python_sum_of_a_buffer():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = sum(x)
            #   ^ host-function: `sum` runs on the host while the kernel is traced: it does not take the buffer `x` | write T.reduce_sum(buffer, out, dim=-1)


def python_int_of_an_element():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), I: T.Tensor((64,), "int32")):
        with T.Kernel(1) as (cid, vid):
            X[int(X[0])] = 0.0
            # ^ host-function: `int` runs on the host while the kernel is traced: it does not take a runtime float32 | write T.cast(x, "int32")


def printing():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            print("first", X[0])
           #^ host-function: `print` runs on the host while the kernel is traced: it does not take a runtime float32 | write T.printf("%d\n", x), with %f for floats


def printing_a_formatted_string():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.printf(f"block {cid}")
            #                 ^ runtime-value: an f-string is made while the kernel is traced, but found a runtime int32 | print with a format: T.printf("%d\n", x), with %f for floats


# Names ---------------------------------------------------------------------------------------------


def logarithm():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            T.tile.logarithm(x, x)
            #      ^ unknown-name: `T.tile.logarithm` is not defined | write T.tile.ln(dst, src)


def the_function_of_elements_on_a_buffer():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = T.log(x)
            #   ^ not-a-scalar: found the buffer `x`, expected a scalar | write T.tile.ln(dst, src)


def an_operation_in_the_wrong_place():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            T.multiply(x, x, 2.0)
            # ^ unknown-name: `T.multiply` is not defined | write T.tile.mul(dst, src0, src1)


def a_method_of_a_tensor():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = x.max()
            #     ^ unknown-name: `x.max` is not defined | write T.reduce_max(buffer, out, dim=-1)


def a_size_of_a_tensor():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(X.size(0)) as (cid, vid):
        #               ^ unknown-name: `X.size` is not defined | write x.shape[0]
            T.barrier_all()


def zeros():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.zeros((64,), "float32")
            #     ^ unknown-name: `T.zeros` is not defined | allocate with T.alloc_shared(shape, dtype), then T.tile.clear(dst)


def a_load():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.load(X)
            #     ^ unknown-name: `T.load` is not defined | write T.copy(X[row, column], tile), with tile = T.alloc_shared(shape, dtype)


def choosing_elements():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            for i in T.Parallel(64):
                x[i] = T.where(x[i] > 0, x[i], 0.0)
                #      ^ gpu-name: T.where: a node of TVM's IR, which kernels do not write | write T.if_then_else(condition, x, y)


def the_gemm_of_gpus():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((64, 64), "float16")
            T.dot(a, a)
            # ^ unknown-name: `T.dot` is not defined | write T.gemm_v0(A, B, C, init=True)


def a_short_name_of_a_type():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "fp32")
            #                     ^ unknown-dtype: 'fp32' is not an element type | write "float32"


# Values --------------------------------------------------------------------------------------------


def arithmetic_on_buffers():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            x = x * 2.0
            #   ^ operand-type: `*` does not take the buffer `x` | write T.tile.mul(dst, src0, src1), or compute on elements in T.Parallel


def matrix_product_operator():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_L1((64, 64), "float16")
            c = a @ a
            #   ^ operand-type: `@` does not take the buffer `a` | write T.gemm_v0(A, B, C, init=True)


def the_value_of_an_operation():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = T.tile.exp(x, x)
           #^ no-value: the operation `tile.exp` has no value | it stores its result in `dst`: write it on a line of its own


def an_operation_without_a_destination():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = T.tile.exp(x)
            #   ^ arity: T.tile.exp misses `src` | it takes dst, src, and stores its result in dst


def a_slice_that_is_assigned():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            x[:] = X[:]
           #^ slice-store: a slice of `x` is assigned | write T.copy(src, dst); only single elements are assigned


def a_slice_that_is_filled():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            x[0:32] = 0.0
           #^ slice-store: a slice of `x` is assigned | write T.tile.fill(dst, value); only single elements are assigned


def a_buffer_picked_at_run_time():
    @T.prim_func
    def k(X: T.Tensor((4, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            bufs = [T.alloc_ub((64,), "float32") for _ in range(2)]
            for i in range(4):
                T.copy(X[i, 0], bufs[i % 2])
                #                    ^ runtime-value: `bufs` is a Python list, whose elements are picked while the kernel is traced, but the index is a runtime int32 | loop with `for i in T.unroll(n)`, or over `bufs` itself; or allocate one buffer with a leading dimension and take slices of it


def elements_of_a_buffer_one_by_one():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            for value in x:
            #            ^ not-a-loop: a kernel cannot iterate over the buffer `x` | loop with range, T.serial, T.unroll, T.grid, T.Parallel, T.Pipelined or T.Persistent, or over a Python list
                T.printf("%f\n", value)


# Kernels, factories and calls ----------------------------------------------------------------------


def a_launch_outside_a_kernel():
    with T.Kernel(1, is_npu=True) as (cid, vid):
   #^ outside-kernel: `with T.Kernel(...)` stands outside a kernel | put it into a function decorated with @T.prim_func or @T.macro
        x = T.alloc_ub((64,), "float32")


def a_scope_outside_a_kernel():
    with T.Scope("V"):
   #^ outside-kernel: `with T.Scope(...)` stands outside a kernel | put it into a function decorated with @T.prim_func or @T.macro
        T.barrier_all()


def a_lambda():
    k = T.prim_func(lambda X: X)
    #   ^ prim-func: a lambda is no kernel | write it with `def`


def a_method():
    class Model:
        @T.prim_func
        def k(self, X: T.Tensor((64,), "float32")):
        #     ^ parameter-type: parameter `self` has no type | a kernel is no method: define it in the method or outside the class
            with T.Kernel(1) as (cid, vid):
                T.barrier_all()


def a_tensor_without_a_shape():
    @T.prim_func
    def k(X: T.Tensor):
    #     ^ parameter-type: parameter `X` is annotated with `T.Tensor` | annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32
        with T.Kernel(1) as (cid, vid):
            T.barrier_all()


def a_kernel_in_a_kernel():
    @T.prim_func
    def inner(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.barrier_all()

    @T.prim_func
    def outer(X: T.Tensor((64,), "float32")):
        with T.Kernel(1) as (cid, vid):
            inner(X)
           #^ call-prim-func: `inner` is a prim_func: it is a kernel of its own | write @T.macro above it to use it in other kernels, without its T.Kernel


def a_size_that_is_divided():
    n = 128

    @T.prim_func
    def k(X: T.Tensor((n,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((n / 2,), "float32")
            #              ^ shape: dimension 0 of a buffer is 64.0, expected a positive integer | `/` makes a float: divide sizes with `//`


def a_bound_that_is_divided():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.alloc_ub((32, 64), "float32")
            T.copy(X[0 : 64 / 2, :], x)
            #        ^ index-type: a bound of slice 0 of `X` is float32, expected an integer | `/` makes a float: divide sizes with `//`


def fewer_rows_than_a_block():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(64 // 128) as (cid, vid):
        #             ^ launch-size: block_num is 0, expected at least 1 | `//` rounds down, T.ceildiv(size, block) rounds up
            T.barrier_all()


def a_factory_without_all_arguments():
    @T.jit(out_idx=[-1])
   #^ jit-argument: call of `make`: missing a required argument: 'M' | it is declared as make(N, M, dtype='float32')
    def make(N, M, dtype: str = "float32"):
        raise AssertionError("not called")

    make(64)


def a_factory_called_with_a_tensor():
    @T.jit(out_idx=[-1])
    def make(n):
        @T.prim_func
        def k(X: T.Tensor((n,), "float32")):
        #        ^ shape: dimension 0 of a tensor is a Python Tensor, expected an integer | a kernel is made of sizes and then called with tensors: `kernel(64)(x)`
            with T.Kernel(1) as (cid, vid):
                T.barrier_all()

        return k

    make(torch.zeros(64))


def an_output_without_out_idx():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
   #^ call-arity: kernel `k` takes 2 arguments (X, Y), found 1 | pass `Y` too, or say that the runtime allocates what is written: out_idx=[1]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.copy(x, Y)

    T.compile(k, pass_configs=AUTO)(torch.zeros(64))


def an_array_for_a_tensor():
    @T.prim_func
    def k(X: T.Tensor((64,), np.float32)):
    #     ^ call-type: argument 1 `X` is an ndarray, expected a tensor of float32 with shape (64,) | pass `torch.from_numpy(X)`
        with T.Kernel(1, threads=1) as cid:
            T.barrier_all()

    T.compile(k)(np.zeros(64, np.float32))


def a_list_for_a_tensor():
    @T.prim_func
    def k(X: T.Tensor((2,), "float32")):
    #     ^ call-type: argument 1 `X` is a list, expected a tensor of float32 with shape (2,) | pass `torch.tensor(X)`
        with T.Kernel(1, threads=1) as cid:
            T.barrier_all()

    T.compile(k)([1.0, 2.0])


def a_helper_that_is_no_macro():
    def scale(x, s):
        for i in T.Parallel(64):
       #^ outside-kernel: `for ... in T.Parallel(...)` stands outside a kernel | put it into a function decorated with @T.prim_func or @T.macro
            x[i] = x[i] * s

    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            scale(x, 2.0)


def a_mean():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((8, 64), "float32")
            y = T.alloc_ub((8,), "float32")
            T.reduce_mean(x, y, dim=-1)
            # ^ unknown-name: `T.reduce_mean` is not defined | write T.reduce_sum(buffer, out, dim=-1), then T.tile.mul(out, out, 1 / n)


def arguments_that_overlap():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X, x)
           #^ race: aiv0 MTE3 writes bytes [124, 128) of GM buffer 'Y' (DataCopyPad at first_day.py:557 (kernel.cpp:N)), aiv1 MTE2 reads them (DataCopyPad at first_day.py:553 (kernel.cpp:N)), and nothing orders the two (DataCopyPad, block 0, aiv1, kernel.cpp:N) | both vector cores reach these bytes: keep what is read apart from what is written, in the arguments of the call too, or write `threads=1`
            for i in T.Parallel(64):
                x[i] = x[i] * 2.0
            T.copy(x, Y)

    x = torch.ones(65)
    T.compile(k, pass_configs=AUTO)(x[:64], x[1:])
