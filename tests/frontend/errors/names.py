# ruff: noqa
# fmt: off
"""Names that mean nothing, or mean two things."""

import tile_frontend as T


class E:
    FREE = 0


m = T.symbolic("m")


def unknown_variable():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cis
            #      ^ unknown-name: `cis` is not defined | did you mean `cid`?


def unknown_variable_without_a_near_name():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = qqqzzz
            #      ^ unknown-name: `qqqzzz` is not defined | bind it above this line


def unknown_operation():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.copi(A, A)
            # ^ unknown-name: `T.copi` is not defined | did you mean `copy`?


def unknown_tile_operation():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.tile.reciprocall(A, A)
            #      ^ unknown-name: `T.tile.reciprocall` is not defined | did you mean `reciprocal`?


def unknown_attribute_on_a_second_line():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = cid + (
                E.FRE
                # ^ unknown-name: `E.FRE` is not defined | did you mean `FREE`?
            )


def removed_alloc_local():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_local((16,), "int32")
            #     ^ unknown-name: `T.alloc_local` is not defined | allocate with T.alloc_ub, or T.alloc_var for one scalar


def product_of_tensors():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.gemm(A, A, A)
            #      ^ operand-memory: gemm: A `A` is in gm, expected fragment, l1 or shared | copy it to a tile on chip with T.copy first


def gone_after_its_block():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in range(4):
                x = i
            A[0] = x
            #      ^ unknown-name: `x` was bound inside the block at line 78 and ended with it | bind it before the block, or keep it in a T.alloc_var


def gone_after_a_scope():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            with T.Scope("V"):
                a = T.alloc_ub((16,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                #         ^ unknown-name: `a` was bound inside the block at line 88 and ended with it | bind it before the block, or keep it in a T.alloc_var


def buffer_name_twice():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            b = T.alloc_ub((16,), "float32")
            a = T.alloc_ub((16,), "float32")
          # ^ duplicate-buffer: `a` names two buffers: one at line 98, another at line 100 | give each buffer of a kernel its own name


def buffer_named_like_a_parameter():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            A = T.alloc_ub((16,), "float32")
          # ^ duplicate-buffer: `A` names two buffers: one at line 106, another at line 108 | give each buffer of a kernel its own name


def buffer_name_twice_in_a_macro():
    @T.macro
    def twice():
        t = T.alloc_ub((16,), "float32")
        t = T.alloc_ub((16,), "float32")
      # ^ duplicate-buffer: `t` names two buffers: one at line 115, another at line 116 | give each buffer of a kernel its own name


    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            twice()


def symbol_in_no_shape():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(m) as (cid, vid):
        #             ^ unbound-symbol: the symbolic dimension `m` is in no parameter's shape | a symbol takes its value from a tensor: use it in a T.Tensor shape
            pass


def parameter_named_like_a_symbol():
    @T.prim_func
    def k(m: T.Tensor((m,), "float32")):
    #     ^ symbol-name: parameter `m` has the name of a symbolic dimension | give one of them another name
        with T.Kernel(1) as (cid, vid):
            pass


def operation_assigned():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            x = T.barrier_all()
          # ^ no-value: the operation `barrier_all` has no value | write it on a line of its own


def operation_not_called():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.barrier_all
          # ^ not-called: `T.barrier_all` is not called | add the parentheses


def operation_lost_in_a_helper():
    def helper():
        T.pipe_barrier("v")
        return T.barrier_all()

    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            helper()
          # ^ operation-lost: the operation `pipe_barrier` is called, but its result is not emitted | a helper returns all its operations, as a tuple, or none: then they are emitted in order


def number_called():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            E.FREE(1)
          # ^ not-callable: `E.FREE` is the Python number 0, not a function | remove the parentheses


def wrong_arguments_of_a_macro():
    @T.macro
    def twice(a, b):
        pass

    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            twice(1)
          # ^ arity: macro `twice`: missing a required argument: 'b' | it takes (a, b)


def endless_macro():
    @T.macro
    def again():
        again()
      # ^ macro-recursion: macro `again` expands without end | end it under a condition that is known while the kernel is traced

    # here

    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            again()


def mistake_inside_a_macro():
    @T.macro
    def inner(a):
        T.tile.addd(a, a, 1.0)
        #      ^ unknown-name: `T.tile.addd` is not defined | did you mean `add`?

    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            inner(A)


def operation_in_the_wrong_namespace():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            T.tile.copy(A, A)
            #      ^ unknown-name: `T.tile.copy` is not defined | write T.copy


def unknown_scalar_function():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            A[0] = T.if_then_els(cid > 0, 1.0, 2.0)
            #        ^ unknown-name: `T.if_then_els` is not defined | did you mean `if_then_else`?


def sum_in_a_let():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            total = 0
            for i in range(4):
                total += i
              # ^ lost-assignment: `total` is assigned in a loop, and the value ends with the iteration: the next iteration reads the value from before the loop again | use another name, or keep the value in a variable: `total = T.alloc_var(...)`


def choice_in_a_let():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            first = 0
            if cid > 0:
                first = 8
              # ^ lost-assignment: `first` is assigned in a block and the value ends with it: line 250 reads the one from before the block | use another name, or keep the value in a variable: `first = T.alloc_var(...)`
            A[first] = 1


def number_function_of_a_buffer():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.exp(a)
          # ^ not-a-scalar: found the buffer `a`, expected a scalar | write T.tile.exp(dst, src)


def larger_of_a_buffer_and_a_number():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.max(a, 0.0)
          # ^ not-a-scalar: found the buffer `a`, expected a scalar | write T.tile.max(dst, src0, src1)


def operation_at_the_top_with_too_few_operands():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            T.add(a, a)
          # ^ arity: T.tile.add misses `src1` | it takes dst, src0, src1, and stores its result in dst


def tensor_written_under_two_names():
    @T.prim_func
    def k(A: T.Tensor((4, 16), "int32")):
        with T.Kernel(4, threads=1) as b:
            flat = T.view(A, (64,))
            flat[b * 16] = 1
            A[b, 1] = A[b, 2]
#           ^ operand-memory: `A` and `flat` are the same tensor, which is written in line 285 | use a tensor that is written under one name only
