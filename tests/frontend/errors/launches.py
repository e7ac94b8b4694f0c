# ruff: noqa
# fmt: off
"""Signatures, launches, scopes and branches that are wrong."""

import tile_frontend as T

big = T.alloc_ub
m = T.symbolic("m")


def kernel_missing():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
    #   ^ kernel-missing: `k` launches no kernel | write `with T.Kernel(blocks, is_npu=True) as (cid, vid):` around the body
        pass


def kernel_inside_another():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.Kernel(1) as (cid, vid):
            #    ^ kernel-inside: `k` launches a kernel inside the launch before it | launches follow each other, none of them inside another block
                A[0] = 1


def kernel_inside_a_branch():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: T.int32):
        if n > 1:
            with T.Kernel(1) as (cid, vid):
            #    ^ kernel-inside: `k` launches a kernel inside a branch or a loop that runs on the host | launches follow each other, none of them inside another block
                A[0] = 1


def a_size_of_the_kernel_for_a_tensor_of_the_call():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            w = T.alloc_global((cid + 1,), "int32")
                             # ^ dynamic-shape: a size of T.alloc_global is computed in the kernel | the host makes it before the launch: use numbers and sizes of parameters


def statement_before_the_launch():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        A[0] = 1
      # ^ outside-launch: a statement stands outside the launch of the kernel | put it below `with T.Kernel(...)`
        with T.Kernel(1) as (cid, vid):
            pass


def operation_after_the_launch():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            pass
        T.barrier_all()
      # ^ outside-launch: a statement stands outside the launch of the kernel | put it below `with T.Kernel(...)`



def allocation_before_the_launch():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        a = T.alloc_ub((16,), "int32")
        #   ^ outside-launch: a buffer is allocated outside the launch of the kernel | put it below `with T.Kernel(...)`
        with T.Kernel(1) as (cid, vid):
            pass


def element_read_before_the_launch():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        n = A[0]
      # ^ outside-launch: an element is read outside the launch of the kernel | put it below `with T.Kernel(...)`
        with T.Kernel(n) as (cid, vid):
            pass


def three_names_for_one_size():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (a, b, c):
        #                   ^ with-target: T.Kernel with one extent yields the block, or the block and the vector core, found 3 names | write `as (a, vid)`: vid numbers the two vector cores of a block; with one name the compiler gives each core its rows
            pass


def four_sizes():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(4, 4, 4, 4) as (a, b, c, d):
        #                      ^ launch-grid: a launch has at most three dimensions, found 4 | fold some into one: `i, j = b % n, b // n`
            pass


def two_names_for_three_sizes():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(4, 4, 4) as (a, b):
        #                         ^ with-target: T.Kernel with 3 extents yields 3 indices, found 2 names | write `as (bx, by, bz)`
            pass


def no_threads():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=0) as cid:
        #                        ^ launch-threads: threads is 0, expected positive numbers | threads is the number of threads a block has on a GPU; leave it out here
            pass


def two_names_for_one_index():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=2, is_npu=True) as (cid, vid):
        #                                           ^ with-target: T.Kernel with threads yields 1 index, found 2 names | write `as bx`
            pass


def no_blocks():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(0) as (cid, vid):
        #             ^ launch-size: block_num is 0, expected at least 1 | `//` rounds down, T.ceildiv(size, block) rounds up
            pass


def not_on_an_npu():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1, is_npu=False) as (cid, vid):
        #                       ^ launch-target: is_npu is False, expected True | kernels here run on an NPU
            pass


def unknown_scope():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.Scope("X"):
            #            ^ unknown-scope: the scope is 'X', expected "C" or "V" | write T.Scope("C") for the cube core, T.Scope("V") for the vector cores
                pass


def nested_scope():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.Scope("C"):
                with T.Scope("V"):
                #    ^ nested-scope: T.Scope("V") stands inside another scope | end the outer scope first
                    pass


def scope_with_a_target():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.Scope("C") as c:
            #                    ^ with-target: T.Scope("C") yields nothing | leave out the `as` part
                pass


def vector_operation_in_the_cube_scope():
    @T.prim_func
    def k(A: T.Tensor((16,), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "float32")
            with T.Scope("C"):
                T.tile.exp(a, a)
              # ^ wrong-scope: exp runs on the vector core, but stands in T.Scope("C") | move it to a T.Scope("V") block


def then_without_if():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.Then():
            #    ^ branch-missing: T.Then stands in no T.If | write `with T.If(cond), T.Then():`; T.Else stands inside the T.If block
                A[0] = 1


def two_thens():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.If(cid == 0):
                with T.Then():
                    A[0] = 1
                with T.Then():
                #    ^ branch-twice: this T.If has a second T.Then | write all its statements in one `with T.Then():`
                    A[0] = 1


def statement_beside_the_branches():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            with T.If(cid == 0):
            #    ^ branch-missing: a statement stands in T.If, but in neither branch | put it below `with T.Then():` or `with T.Else():`
                A[0] = 1


def loop_break_outside_a_loop():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.loop_break()
          # ^ outside-loop: loop_break stands in no loop | loop with T.serial


def parameter_without_a_type():
    @T.prim_func
    def k(A):
    #     ^ parameter-type: parameter `A` has no type | annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32
        with T.Kernel(1) as (cid, vid):
            pass


def parameter_of_a_strange_type():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: int):
    #                                  ^ parameter-type: parameter `n` is annotated with `int` | annotate it with T.Tensor(shape, dtype) or a scalar type such as T.int32
        with T.Kernel(1) as (cid, vid):
            pass


def parameter_with_a_default():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), n: T.int32 = 3):
    #                                               ^ parameter-default: a kernel parameter has a default value | pass the value at the call, or capture it from outside
        with T.Kernel(1) as (cid, vid):
            pass


def star_parameters():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), *rest):
    #                                   ^ parameter-kind: parameter `rest` is not a plain one | kernels take parameters by position: no *args, **kwargs, / or *
        with T.Kernel(1) as (cid, vid):
            pass


def keyword_only_parameters():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32"), *, n: T.int32):
    #                                     ^ parameter-kind: parameter `n` is not a plain one | kernels take parameters by position: no *args, **kwargs, / or *
        with T.Kernel(1) as (cid, vid):
            pass


def runtime_shape():
    @T.prim_func
    def k(A: T.Tensor((m,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16, m), "int32")
            #              ^ dynamic-shape: dimension 1 of a buffer is a runtime value, expected a Python int | buffers on chip have fixed sizes: compute it outside the kernel, or allocate the largest


def let_as_a_shape():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            n = cid + 16
            a = T.alloc_ub((n,), "int32")
            #              ^ dynamic-shape: dimension 0 of a buffer is a runtime value, expected a Python int | buffers on chip have fixed sizes: compute it outside the kernel, or allocate the largest


def unknown_dtype():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "flot16")
            #                     ^ unknown-dtype: 'flot16' is not an element type | did you mean `float16`?


def negative_dimension():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16, -1), "int32")
            #              ^ shape: dimension 1 of a buffer is -1, expected a positive integer


def missing_dtype():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,))
            #   ^ arity: `T.alloc_ub`: missing a required argument: 'dtype' | it takes shape, dtype


def address_of_a_parameter():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.annotate_address({A: 0})
            #                  ^ annotation: annotate_address: the buffer `A` is not a buffer allocated in this kernel | pass the name of a tile that this kernel allocates


def negative_address():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16,), "int32")
            T.annotate_address({a: -32})
            #                  ^ address: the address of `a` is the Python number -32, expected a number of bytes


def layout_of_a_ub_buffer():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16, 16), "float16")
            T.annotate_layout({a: T.make_zn_layout(a)})
            #                 ^ layout: `a` is in ub, but only l1 has layouts | leave it out: tiles elsewhere lie in rows


def wrong_number_of_loop_names():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Parallel(4, 4):
            #   ^ loop-target: the loop has 2 variables, found 1 name | write one name for each size, as in `for i, j in T.Parallel(rows, columns):`
                A[i, 0] = 1


def float_bound():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.serial(8 / 2):
            #                 ^ loop-bound: a bound of T.serial is the Python number 4.0, expected an integer | divide integers with `//`, or convert with T.cast
                A[i, 0] = 1


def runtime_stages():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32"), s: T.int32):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(4, num_stages=s):
            #                                  ^ loop-stages: num_stages is a runtime int32, expected a Python int of at least 0 or "auto" | write a number such as 2, or take it from the function around the kernel
                A[i, 0] = 1


def order_that_is_none():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(4, num_stages=2, order=[0, 0]):
            #                                           ^ loop-schedule: order has 0, 0, expected each of 0 to 1 once | give every statement its place in the new order
                A[i, 0] = 1
                A[i, 1] = 1


def stage_of_no_number():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(4, num_stages=2, stage=2):
            #                                           ^ loop-schedule: stage is the Python number 2, expected a list of Python ints
                A[i, 0] = 1


def stages_of_too_few_statements():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            for i in T.Pipelined(4, num_stages=2, stage=[0, 1]):
          # ^ loop-schedule: stage has 2 numbers, and the loop 3 statements | give one for each statement of the body, and none for names
                A[i, 0] = 1
                A[i, 1] = 1
                A[i, 2] = 1


def loop_without_for():
    @T.prim_func
    def k(A: T.Tensor((4, 4), "int32"), s: T.int32):
        with T.Kernel(1) as (cid, vid):
            T.serial(4)
          # ^ loop-unused: a loop stands alone | write `for i in ...:`


def unhashable_key():
    @T.prim_func
    def k(A: T.Tensor((4, 4, 4), "int32")):
        with T.Kernel(1) as (cid, vid):
            T.annotate_address({[1]: 0})
          # ^ python-error: TypeError: unhashable type: 'list'


def swizzle_alone_where_no_name_is_the_block():
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            cid = cid + 1
            T.use_swizzle(cid, 64, 64, 64, 16, 16)
          # ^ swizzle-statement: T.use_swizzle stands alone, but no name here is the index of the block | assign what it gives: `tile = T.use_swizzle(...)`
            A[cid] = 1


def swizzle_alone_skips_no_round_outside_a_loop():
    @T.prim_func
    def k(A: T.Tensor((64,), "int32")):
        with T.Kernel(16) as (cid, vid):
            T.use_swizzle(cid, 64, 64, 64, 16, 16, in_loop=True)
          # ^ swizzle-statement: T.use_swizzle stands alone, but in_loop=True skips the rest of an iteration, and this is no body of a loop | assign what it gives: `tile = T.use_swizzle(...)`
            A[cid] = 1


def all_blocks_meet_that_run_one_after_another():
    @T.prim_func
    def k(A: T.Tensor((16,), "int32")):
        with T.Kernel(100, threads=128) as b:
            T.sync_grid()
          # ^ sync-grid: T.sync_grid waits for all blocks, but the launch has 100 blocks and the chip 24 cores: blocks run one after another | launch as many blocks as there are cores, each of which loops over its tiles, or write a second `with T.Kernel` in its place
