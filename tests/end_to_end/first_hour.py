# ruff: noqa
# fmt: off
"""What a person writes in the first hour who knows Triton or PyTorch, and the error that is reported.
Each function is one program; it runs to its end, the simulator included."""

import torch
import torch.nn.functional as F

import tile_frontend as T

N = 256


def program_ids_of_two_axes():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2) as (bx, by):
            m = T.program_id(axis=1)
            #     ^ unknown-name: `T.program_id` is not defined | write `with T.Kernel(blocks, threads=2) as cid:`; `cid` is the program id


def number_of_programs():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(4) as (cid, vid):
            n = T.num_programs(0)
            #     ^ unknown-name: `T.num_programs` is not defined | it is the first argument of T.Kernel


def offsets_of_a_block():
    @T.prim_func
    def k(X: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            offsets = cid * 64 + T.arange(0, 64)
            #                      ^ unknown-name: `T.arange` is not defined | name the first element: T.copy(X[start], tile); for the numbers themselves write T.tile.createvecindex(dst, first)


def load_at_a_pointer():
    @T.prim_func
    def k(X: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            x = T.load(X + cid * 64)
            #     ^ unknown-name: `T.load` is not defined | write T.copy(X[row, column], tile), with tile = T.alloc_shared(shape, dtype)


def tensor_plus_offset():
    @T.prim_func
    def k(X: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X + cid * 64, x)
            #      ^ operand-type: `+` does not take the buffer `X` | a part of a tensor is named by its first element: write X[start]


def masked_load():
    @T.prim_func
    def k(X: T.Tensor((250,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X[cid * 64], x, mask=cid * 64 < 250)
            #                      ^ unknown-argument: T.copy has no argument `mask` | leave it out: T.copy loads 0 beyond the tensor and stores nothing there


def masked_load_other():
    @T.prim_func
    def k(X: T.Tensor((250,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X[cid * 64], x, other=0.0)
            #                      ^ unknown-argument: T.copy has no argument `other` | write pad_value=..., the value beyond the edges of the tensor; without it, it is 0


def a_store():
    @T.prim_func
    def k(X: T.Tensor((256,), "float32")):
        with T.Kernel(4, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.store(X, x)
            # ^ unknown-name: `T.store` is not defined | write T.copy(tile, Y[row, column])


def a_dot_with_an_accumulator():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            acc = T.dot(a, a, acc)
            #       ^ unknown-name: `T.dot` is not defined | write T.gemm_v0(A, B, C, init=True)


def acc_plus_gemm():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((64, 64), "float16")
            acc = T.alloc_fragment((64, 64), "float32")
            acc += T.gemm_v0(a, a, acc)
           #^ no-value: the operation `gemm_v0` has no value | write it on a line of its own


def a_sum():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((8, 64), "float32")
            s = T.sum(x, axis=1)
            #     ^ unknown-name: `T.sum` is not defined | write T.reduce_sum(buffer, out, dim=-1)


def a_maximum_of_two():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            y = T.maximum(x, 0.0)
            #     ^ unknown-name: `T.maximum` is not defined | write T.tile.max(dst, src0, src1)


def new_axis():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((8,), "float32")
            y = x[:, None]
            #   ^ rank-mismatch: `x` has 1 dimension, found 2 indices | leave it out: T.Parallel(rows, columns) reads x[i] as one value for each row


def softmax_of_triton():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((8, 64), "float32")
            y = T.softmax(x)
            #     ^ unknown-name: `T.softmax` is not defined | write T.reduce_max, T.tile.sub, T.tile.exp, T.reduce_sum and T.tile.div; examples/developer/softmax.py has it


def an_atomic_of_triton():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.atomic_add(X + cid, x)
            #            ^ operand-type: `+` does not take the buffer `X` | a part of a tensor is named by its first element: write X[start]


def atomic_cas():
    @T.prim_func
    def k(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=2) as cid:
            T.atomic_cas(X[0], 0, 1)
            # ^ unknown-name: `T.atomic_cas` is not defined | T.atomic_add, T.atomic_max and T.atomic_min update gm; no update returns the old value


def a_constexpr_parameter():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), BLOCK: T.constexpr):
    #                                    ^ parameter-type: parameter `BLOCK` is annotated with `constexpr` | make it a parameter of the Python function around the kernel
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((BLOCK,), "float32")


def grid_brackets_of_a_kernel():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
   #^ call-grid: `k[...]`: a kernel is called without a grid | write k(...); T.Kernel(blocks) in the kernel says how many blocks it launches
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X, x)
            T.copy(x, X)
    T.compile(k)[(4,)](torch.zeros(64))


def static_range():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            for i in T.static_range(4):
            #          ^ unknown-name: `T.static_range` is not defined | write `for i in T.unroll(n):`
                T.barrier_all()


def a_range_with_stages():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            for i in T.range(0, 4, num_stages=2):
            #                      ^ unknown-argument: T.range has no argument `num_stages` | write `for k in T.Pipelined(n, num_stages=2):`
                T.barrier_all()


def block_pointer():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            p = T.make_block_ptr(X, (64, 64), (64, 1), (0, 0), (32, 32), (1, 0))
            #     ^ unknown-name: `T.make_block_ptr` is not defined | leave it out: T.copy(X[row, column], tile) loads a tile, and 0 beyond the tensor


def tensor_descriptor():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            p = T.make_tensor_descriptor(X, shape=(64, 64), strides=(64, 1), block_shape=(32, 32))
            #     ^ unknown-name: `T.make_tensor_descriptor` is not defined | leave it out: T.copy(X[row, column], tile) loads a tile, and 0 beyond the tensor


def device_print():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            T.device_print("x", cid)
            # ^ unknown-name: `T.device_print` is not defined | write T.printf("%d\n", x), with %f for floats, or T.dump_tensor(x, 0, 16)


def static_assert():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            T.static_assert(N % 64 == 0)
            # ^ unknown-name: `T.static_assert` is not defined | write `assert`: Python runs it while the kernel is traced


def a_filled_tile():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            acc = T.full((64,), 0.0, "float32")
            #       ^ unknown-name: `T.full` is not defined | write T.tile.fill(dst, value)


def transposed_tile():
    @T.prim_func
    def k(X: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64, 32), "float16")
            y = T.trans(x)
            #     ^ unknown-name: `T.trans` is not defined | write T.tile.transpose(dst, src), or transpose_B=True in T.gemm_v0


def a_method_that_casts():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            y = x.to("float16")
            #     ^ unknown-name: `x.to` is not defined | write T.tile.cast(dst, src, mode)


def a_transposed_view():
    @T.prim_func
    def k(X: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64, 32), "float16")
            y = x.T
            #     ^ unknown-name: `x.T` is not defined | write T.tile.transpose(dst, src)


def short_names_of_types():
    @T.prim_func
    def k(X: T.Tensor((64, 32), "float16")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64, 32), T.fp16)
            #                              ^ unknown-name: `T.fp16` is not defined | write T.float16


def debug_barrier():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            T.debug_barrier()
            # ^ unknown-name: `T.debug_barrier` is not defined | leave it out: the compiler orders the statements of a block


def where_on_tiles():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            y = T.where(x > 0, x, 0.0)
            #           ^ operand-type: `>` does not take the buffer `x` | write T.tile.compare(dst, src0, src1, mode), or compute on elements in T.Parallel


def a_tile_that_is_compared():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            if x > 0:
            #  ^ operand-type: `>` does not take the buffer `x` | write T.tile.compare(dst, src0, src1, mode), or compute on elements in T.Parallel
                T.copy(x, X)


def a_tile_as_a_condition():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            if x:
            #  ^ operand-kind: the condition is the buffer `x` | compare one element, such as x[0] > 0, or choose by element in T.Parallel
                T.copy(x, X)


def len_of_tensor():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            n = len(X)
            #   ^ host-function: `len` runs on the host while the kernel is traced: it does not take the buffer `X` | write x.shape[0]
            x = T.alloc_shared((n, n), "float32")
            x[0, 0] = X.numel()


def a_tensor_made_in_a_kernel():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = torch.zeros(64)
            T.copy(X, x)
            #         ^ operand-kind: copy: dst is a Python Tensor, expected a buffer, a slice or a start index | a kernel allocates its tiles with T.alloc_shared; tensors are passed at the call


def layer_norm_of_torch():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((8, 64), "float32")
            y = F.layer_norm(x, (64,))
            #   ^ host-function: `F.layer_norm` runs on the host while the kernel is traced: it does not take the buffer `x` | compute on tiles with T.tile operations


def mean_method():
    @T.prim_func
    def k(X: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((8, 64), "float32")
            m = x.mean(-1)
            #     ^ unknown-name: `x.mean` is not defined | write T.reduce_sum(buffer, out, dim=-1), then T.tile.mul(out, out, 1 / n)


def return_value():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            return x
           #^ unsupported-syntax: `return` of a value is not supported in a kernel | write results to a buffer that is passed in


def inplace_method():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            x.add_(1.0)
            # ^ unknown-name: `x.add_` is not defined | write T.tile.add(dst, src0, src1)


def view_method():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((64,), "float32")
            y = x.view(8, 8)
            #     ^ unknown-name: `x.view` is not defined | allocate it in the shape that is needed, or write T.view(x, shape)


def runtime_size_of_a_tile():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1, threads=2) as cid:
            x = T.alloc_shared((n,), "float32")
            #                  ^ dynamic-shape: dimension 0 of a buffer is a runtime value, expected a Python int | buffers on chip have fixed sizes: compute it outside the kernel, or allocate the largest


def wrong_shapes_of_gemm():
    @T.prim_func
    def k(A: T.Tensor((64, 32), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((64, 32), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.gemm_v0(a, b, c, init=True)
            #            ^ shape-mismatch: gemm_v0: A `a` gives k = 32, but B `b` gives k = 64 | A is [m, k] and B is [k, n], unless they are said to be transposed


def operands_of_two_types():
    @T.prim_func
    def k(A: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.gemm_v0(a, b, c, init=True)
            #            ^ dtype-mismatch: gemm_v0: B `b` is float32, but A `a` is float16 | give both one element type, before the call or with T.tile.cast


def wrong_dtype_of_call():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
    #     ^ call-dtype: argument 1 `X` is float16, expected float32 | pass `X.to(torch.float32)`
        with T.Kernel(1, threads=1) as cid:
            T.barrier_all()
    T.compile(k)(torch.zeros(64).half())


def wrong_shape_of_call():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
    #     ^ call-shape: dimension 0 of argument 1 `X` is 65, expected 64 | `X` is declared with shape (64,)
        with T.Kernel(1, threads=1) as cid:
            T.barrier_all()
    T.compile(k)(torch.zeros(65))


def a_tensor_without_values():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
    #     ^ call-tensor: argument 1 `X` is a meta tensor, which has a shape and no values | pass real ones, or register it and call the operator: kernel.as_custom_op("ns::name")
        with T.Kernel(1, threads=1) as cid:
            T.barrier_all()
    T.compile(k)(torch.zeros(64, device="meta"))


def torch_on_an_element():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64,), "float32")
            for i in range(64):
                x[i] = torch.sqrt(x[i])
                #      ^ host-function: `torch.sqrt` runs on the host while the kernel is traced: it does not take a runtime float32 | write T.sqrt(x[i])


def accumulate_in_parallel():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X, x)
            total = 0.0
            for i in T.Parallel(64):
                total += x[i]
               #^ lost-assignment: `total` is assigned in a loop, and the value ends with the iteration: the next iteration reads the value from before the loop again | use another name, or keep the value in a variable: `total = T.alloc_var(...)`


def accumulate_in_serial():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X, x)
            total = 0.0
            for i in range(64):
                total += x[i]
               #^ lost-assignment: `total` is assigned in a loop, and the value ends with the iteration: the next iteration reads the value from before the loop again | use another name, or keep the value in a variable: `total = T.alloc_var(...)`
            X[0] = total


def num_warps():
    @T.jit(out_idx=[-1])
   #^ jit-argument: call of `make`: got an unexpected keyword argument 'num_warps' | it is declared as make(M, rows=8)
    def make(M, rows=8):
        raise AssertionError
    make(64, num_warps=4)


def pointers_without_types():
    @T.prim_func
    def k(x_ptr, y_ptr, n):
    #     ^ parameter-type: parameter `x_ptr` has no type | annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32
        with T.Kernel(1, threads=2) as cid:
            T.barrier_all()


def a_tensor_of_torch_as_a_type():
    @T.prim_func
    def k(X: torch.Tensor, Y: torch.Tensor):
    #     ^ parameter-type: parameter `X` is annotated with `Tensor` | annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32
        with T.Kernel(1, threads=2) as cid:
            T.barrier_all()


def while_loop_runtime():
    @T.prim_func
    def k(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=1) as cid:
            n = X[0]
            while n > 0:
                n = n - 1
               #^ lost-assignment: `n` is assigned in a loop, and the value ends with the iteration: the next iteration reads the value from before the loop again | use another name, or keep the value in a variable: `n = T.alloc_var(...)`


def copy_sizes_differ():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((16, 64), "float32")
            T.copy(X[0:32, :], x)
            #                  ^ shape-mismatch: copy: src `X` has [32, 64] = 2048 elements, but dst `x` has [16, 64] = 1024 elements | slice one side so that both describe the same tile


def try_except():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            try:
           #^ unsupported-syntax: `try` is not supported in a kernel | kernels have no exceptions: test the condition with `if`
                T.barrier_all()
            except ValueError:
                pass


def an_argmax():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64,), "float32")
            y = T.argmax(x, axis=0)
            #     ^ unknown-name: `T.argmax` is not defined | write T.tile.topk with K=1: it gives pairs of value and index


def a_kernel_called_with_a_grid():
    @T.jit
   #^ call-grid: `add[...]`: a kernel is called without a grid | write add(...); T.Kernel(blocks) in the kernel says how many blocks it launches
    def add(A, B, rows: int = 16):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), "float32")
        B: T.Tensor((M, N), "float32")
        C = T.empty((M, N), "float32")
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            a = T.alloc_shared((rows, N), "float32")
            T.copy(A[cid * rows, 0], a)
            T.copy(a, C[cid * rows, 0])
        return C
    add[(4,)](torch.zeros(64, 64), torch.zeros(64, 64))


def kernel_num_warps():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, num_warps=4) as cid:
        #                ^ unknown-argument: T.Kernel has no argument `num_warps` | write threads=2: the compiler divides the work over both vector cores
            T.barrier_all()


def gemm_with_acc():
    @T.prim_func
    def k(X: T.Tensor((64, 64), "float16")):
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.gemm_v0(a, a, c, acc=c)
            #                  ^ unknown-argument: T.gemm_v0 has no argument `acc` | pass the accumulator as C; init=True starts a new sum


def an_assertion_that_fails():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            assert N % 3 == 0, "N is no multiple of 3"
           #^ assertion: `N % 3 == 0` does not hold: N is no multiple of 3
            print("N is", N)


def an_array_of_numpy():
    @T.jit
   #^ call-type: argument `X` is an ndarray, expected a tensor of torch | pass `torch.from_numpy(X)`
    def double(X, rows: int = 16):
        M = T.const("M")
        X: T.Tensor((M,), "float32")
        Y = T.empty((M,), "float32")
        with T.Kernel(T.cdiv(M, rows), threads=2) as cid:
            x = T.alloc_shared((rows,), "float32")
            T.copy(X[cid * rows], x)
            T.copy(x, Y[cid * rows])
        return Y
    double(torch.zeros(64).numpy())


def sizes_and_arrays_at_once():
    @T.jit(out_idx=[-1])
   #^ jit-argument: argument 2 of `double` is a ndarray, which can not be hashed | a factory takes sizes, and the kernel that it returns takes tensors
    def double(N, x):
        return None
    double(64, torch.zeros(64).numpy())


def a_tensor_without_a_shape():
    @T.jit
    def double(X, Y, N, BLOCK: T.constexpr):
        X: T.Tensor((N,), "float32")
        with T.Kernel(T.cdiv(N, BLOCK), threads=2) as cid:
            x = T.alloc_shared((BLOCK,), "float32")
            T.copy(X[cid * BLOCK], x)
            T.copy(x, Y[cid * BLOCK])
            #         ^ parameter-type: the tensor `Y` has no declared shape | write `Y: T.Tensor(shape, dtype)` above the launch
    double(torch.zeros(64), torch.zeros(64), 64, 16)


def every_second_element():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_shared((64,), "float32")
            T.copy(X, x)
            T.copy(x[1::2], X)
            #        ^ slice-step: a slice of `x` has a step | a slice takes every element; to pick some, assign them to a tile in T.Parallel: y[i] = x[1 + 2 * i]


def a_sum_that_nothing_clears():
    @T.prim_func
    def k(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as cid:
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c)
           #^ never-written: this adds to `c`, but nothing in the kernel gives it a first value | write T.clear(c) before the loop, or init=True or init=(k == 0); T.gemm calls it clear_accum=
            T.copy(c, C)
    T.compile(k, out_idx=[1])(torch.zeros(64, 64).half())


def a_return_from_a_loop():
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(4, threads=1) as cid:
            for i in T.serial(4):
                if i == cid:
                    return
                   #^ unsupported-syntax: `return` in a loop or a scope is not supported in a kernel | put the statements that it skips into an `else`; `break` leaves a loop
